//! `im migrate` makes the schema of the tiered store, is safe to repeat, and shows no password.

#![cfg(test)]

mod support;

use support::Folder;

const MANIFEST: &str = r#"
spin_manifest_version = 2
[application]
name = "migrate"
[variables]
postgres_url = { default = "", secret = true }
"#;

const WORD: &str = "WORD-THAT-IS-SECRET";

#[test]
fn a_database_is_made_once() {
    let folder = Folder::new(MANIFEST);
    let up = folder.up(&["--with-servers"]);
    let read = |name: &str| std::fs::read_to_string(folder.path(&format!(".im/servers/{name}"))).unwrap();
    let port = read("postgres/postmaster.pid").lines().nth(3).unwrap().to_owned();
    let url = format!("postgres://im:{}@127.0.0.1:{port}/postgres\n", read("postgres.secret"));
    folder.write("url", &url);
    for (from, told) in [("file", "made, at version "), ("environment", "is at version ")] {
        let mut command = match from {
            "file" => folder.command(&["migrate", "--postgres-url-file", "url"]),
            _ => folder.command(&["migrate"]),
        };
        let output = command.env("IM_POSTGRES_URL", &url).output().unwrap();
        let [text, error] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(text.starts_with(&format!("postgres 1: {told}")), "{text}{error}");
        assert_eq!((text.lines().count(), error.as_str()), (1, ""));
    }
    assert_eq!(up.stop("TERM"), Some(0));
}

#[test]
fn what_is_wrong_is_told_without_the_password() {
    let folder = Folder::new(MANIFEST);
    for (arguments, code, told) in [
        (vec![], 2, "IM_POSTGRES_URL"),
        (vec!["--postgres-url-file".into(), "gone".into()], 2, "gone"),
        (vec!["--postgres-url".into(), format!("http://im:{WORD}@h")], 2, "--postgres-url URL 1 of 1"),
        (vec!["--postgres-url".into(), format!("postgres://im:{WORD}@127.0.0.1:1/im")], 1, "postgres 1: "),
        (vec!["--postgres-url".into(), format!("postgres://im:{WORD}@h:{WORD}")], 1, "postgres 1: "),
    ] {
        let arguments: Vec<&str> =
            std::iter::once("migrate").chain(arguments.iter().map(String::as_str)).collect();
        let (found, line) = folder.fails(&arguments);
        assert_eq!(found, code, "{line}");
        assert!(line.contains(told) && !line.contains(WORD), "{line}");
    }
}
