//! Whom the servers run as, and how they end when `im` is killed.
//!
//! `setpriv` (util-linux) does both. PostgreSQL refuses to run as root, so root hands it to the user
//! `postgres` that Debian's package makes.

use std::ffi::OsStr;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use super::{ServersError, programs};

/// The user that PostgreSQL runs as when we are root.
const USER: &str = "postgres";

/// How programs are started.
pub struct Owner {
    setpriv: Option<PathBuf>,
    /// User and group of PostgreSQL when it is not ours.
    other: Option<(u32, u32)>,
}

impl Owner {
    pub fn find() -> Result<Self, ServersError> {
        let setpriv = programs::on_path("setpriv");
        if !rustix::process::geteuid().is_root() {
            return Ok(Self { setpriv, other: None });
        }
        let missing = |program, package: &str| ServersError::Missing { program, package: package.into() };
        if setpriv.is_none() {
            return Err(missing("setpriv", "util-linux"));
        }
        let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let other =
            find_user(&users, USER).ok_or_else(|| missing("PostgreSQL (user postgres)", "postgresql"))?;
        Ok(Self { setpriv, other: Some(other) })
    }

    /// A command of PostgreSQL on the folder of its data, whose path goes into `-D`.
    ///
    /// Another user may not pass through the folders above, so a shell opens that folder first and
    /// PostgreSQL finds it among its open files.
    pub fn command(&self, program: &Path, folder: &Path, end: &str) -> Command {
        let identity = self.identity();
        let Some(_) = self.other else {
            let mut command = ending(self.setpriv.as_deref(), end, &identity, program);
            command.current_dir(folder).arg("-D").arg(folder);
            return command;
        };
        let mut command = Command::new("sh");
        command.args(["-c", "exec 9<. && cd / && exec \"$@\"", "sh"]);
        command.arg(self.setpriv.as_deref().unwrap_or(Path::new("setpriv")));
        command.args(["--pdeathsig", end]).args(identity).arg("--").arg(program);
        command.args(["-D", "/proc/self/fd/9"]).current_dir(folder);
        detach(&mut command);
        command
    }

    fn identity(&self) -> Vec<String> {
        match self.other {
            None => Vec::new(),
            Some((user, group)) => {
                vec![format!("--reuid={user}"), format!("--regid={group}"), "--clear-groups".into()]
            }
        }
    }

    /// Gives a folder to PostgreSQL.
    pub fn give(&self, folder: &Path) -> Result<(), ServersError> {
        let Some((user, group)) = self.other else {
            return Ok(());
        };
        let what = format!("cannot give {} to the user {USER}", folder.display());
        chown(folder, Some(user), Some(group)).map_err(ServersError::io(what))
    }
}

/// A command that the kernel sends a signal when this thread ends, if `setpriv` is there to ask for it.
pub fn ending(setpriv: Option<&Path>, signal: &str, identity: &[String], program: &Path) -> Command {
    let mut command = match setpriv {
        None => Command::new(program),
        Some(setpriv) => {
            let mut command = Command::new(setpriv);
            command.args(["--pdeathsig", signal]).args(identity).arg("--").arg(program);
            command
        }
    };
    detach(&mut command);
    command
}

/// A Ctrl-C at the terminal is for `im` alone, which ends its servers in order; and how a person
/// has set up a PostgreSQL of their own is not for ours.
fn detach(command: &mut Command) {
    command.process_group(0).stdin(std::process::Stdio::null());
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_for_servers(name)) {
        command.env_remove(name);
    }
}

/// Variables by which a person's own PostgreSQL is set up.
fn is_for_servers(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with("PG"))
}

fn find_user(users: &str, name: &str) -> Option<(u32, u32)> {
    let line = users
        .lines()
        .map(|line| line.split(':'))
        .find_map(|mut fields| (fields.next() == Some(name)).then_some(fields));
    let mut numbers = line?.skip(1).map_while(|field| field.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users() {
        let users = "root:x:0:0::/root:/bin/sh\npostgres:x:101:104:,,,:/var:/bin/bash\nbroken:x\n";
        assert_eq!(find_user(users, "postgres"), Some((101, 104)));
        assert_eq!(find_user(users, "broken"), None);
        assert_eq!(find_user(users, "other"), None);
    }
}
