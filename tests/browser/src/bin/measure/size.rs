//! Bytes of each file as it is, and as a web server sends it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use trainmem_browser::Result;

/// One file of the build (sizes in bytes).
pub(crate) struct File {
    /// Path within the build, with slashes.
    pub(crate) name: String,
    pub(crate) raw: u64,
    pub(crate) gzip: u64,
    pub(crate) brotli: u64,
}

/// Copies the build next to itself with a `.br` and a `.gz` beside each file, at the best quality, as a static host
/// keeps them.
///
/// # Errors
/// When a file can't be read or written.
pub(crate) fn compressed_copy(dist: &Path) -> Result<PathBuf> {
    let copy = trainmem_browser::target()?.join("measure");
    if copy.exists() {
        fs::remove_dir_all(&copy)?;
    }
    for name in names(dist, Path::new(""))? {
        let bytes = fs::read(dist.join(&name))?;
        let target = copy.join(&name);
        fs::create_dir_all(target.parent().unwrap_or(&copy))?;
        fs::write(&target, &bytes)?;
        let mut brotli = brotli::CompressorWriter::new(fs::File::create(with(&target, "br"))?, 4096, 11, 22);
        brotli.write_all(&bytes)?;
        drop(brotli);
        let mut gzip = GzEncoder::new(fs::File::create(with(&target, "gz"))?, Compression::best());
        gzip.write_all(&bytes)?;
        gzip.finish()?;
    }
    Ok(copy)
}

/// The files of a compressed copy, the largest first.
///
/// # Errors
/// When the folder can't be read.
pub(crate) fn files(copy: &Path) -> Result<Vec<File>> {
    let mut files = Vec::new();
    for name in names(copy, Path::new(""))? {
        let path = copy.join(&name);
        let length = |path: &Path| fs::metadata(path).map(|data| data.len());
        if let Ok(brotli) = length(&with(&path, "br")) {
            let name = name.to_string_lossy().replace('\\', "/");
            files.push(File { name, raw: length(&path)?, gzip: length(&with(&path, "gz"))?, brotli });
        }
    }
    files.sort_by_key(|file| std::cmp::Reverse(file.brotli));
    Ok(files)
}

fn with(path: &Path, extension: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    PathBuf::from(name)
}

fn names(root: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let name = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            found.extend(names(root, &name)?);
        } else {
            found.push(name);
        }
    }
    Ok(found)
}
