//! Where the programs of the servers are.

use std::path::{Path, PathBuf};

use super::ServersError;

/// Where Debian keeps PostgreSQL, a folder for each major version.
const POSTGRES_VERSIONS: &str = "/usr/lib/postgresql";

/// A program on the path.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

pub fn redis_server() -> Result<PathBuf, ServersError> {
    on_path("redis-server")
        .ok_or_else(|| ServersError::Missing { program: "redis-server", package: "redis-server".into() })
}

/// The folder with PostgreSQL's programs: of the version that made the data, if there is some, else
/// the newest.
pub fn postgres_folder(data_version: Option<&str>) -> Result<PathBuf, ServersError> {
    let package = match data_version {
        Some(version) => format!("postgresql-{version}"),
        None => "postgresql".into(),
    };
    debian_postgres(data_version)
        .or_else(|| on_path("postgres").and_then(|file| file.parent().map(Path::to_path_buf)))
        .filter(|folder| folder.join("initdb").is_file())
        .ok_or(ServersError::Missing { program: "PostgreSQL", package })
}

fn debian_postgres(wanted: Option<&str>) -> Option<PathBuf> {
    let entries = std::fs::read_dir(POSTGRES_VERSIONS).ok()?;
    let versions = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let newest =
        versions.filter(|version| wanted.is_none_or(|wanted| wanted == version.to_string())).max()?;
    let folder = Path::new(POSTGRES_VERSIONS).join(newest.to_string()).join("bin");
    folder.join("postgres").is_file().then_some(folder)
}
