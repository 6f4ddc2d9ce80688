//! The servers that tests start for themselves, and what sets their clocks: Debian's packages,
//! installed where they are missing.

use crate::step::{Failure, Outcome, run};
use std::path::Path;
use std::process::Command;

/// A server's program, or what one is started with, where it may be, and the package that brings it.
struct Server {
    program: &'static str,
    folders: &'static [&'static str],
    package: &'static str,
}

const SERVERS: [Server; 3] = [
    Server { program: "redis-server", folders: &["/usr/bin", "/usr/local/bin"], package: "redis-server" },
    // Debian keeps the programs of each major version in a folder of its own.
    Server { program: "bin/initdb", folders: &["/usr/lib/postgresql"], package: "postgresql" },
    // Sets the clock of a server; each architecture has a folder of its own.
    Server { program: "faketime/libfaketime.so.1", folders: &["/usr/lib"], package: "libfaketime" },
];

pub fn install() -> Outcome {
    let missing: Vec<&str> =
        SERVERS.iter().filter(|server| !server.is_there()).map(|server| server.package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    if !Path::new("/usr/bin/apt-get").exists() {
        return Err(Failure(format!("the tests start servers of their own: install {names}")));
    }
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").arg("-qq").args(arguments);
        command
    };
    run("looking for packages", &mut apt(&["update"]))?;
    run(&format!("installing {names}"), apt(&["install", "--yes", "--no-install-recommends"]).args(missing))
        .map_err(|_| Failure(format!("the tests need {names}: apt-get install {names} (as root)")))
}

impl Server {
    fn is_there(&self) -> bool {
        self.folders.iter().any(|folder| {
            let folder = Path::new(folder);
            folder.join(self.program).exists()
                || versions(folder).any(|version| version.join(self.program).exists())
        })
    }
}

fn versions(folder: &Path) -> impl Iterator<Item = std::path::PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}
