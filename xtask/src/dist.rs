//! `cargo xtask dist`: what people install who have no compiler, in `dist/`.
//!
//! One program for Linux that runs with glibc 2.17 or newer (`.tar.gz` with completions and manual pages, `.deb`), a wheel for the
//! same systems, the source package of Python, a list of all that is in them (CycloneDX), and checksums. The linker of old glibc
//! comes from PyPI (ziglang), so nothing but Rust and Python is needed.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::run::{capture, cargo, check, root, tools};

/// The oldest glibc that programs and wheels run with, and what wheels call it.
const GLIBC: &str = "2.17";
const MANYLINUX: &str = "manylinux2014";
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Builds all of it.
#[allow(clippy::print_stdout)]
pub(crate) fn run() -> Result<()> {
    if std::env::consts::OS != "linux" || std::env::consts::ARCH != "x86_64" {
        bail!("dist is made on Linux x86-64; for other systems: cargo build --release, and maturin build --release");
    }
    let dist = root().join("dist");
    if dist.exists() {
        fs::remove_dir_all(&dist)?;
    }
    fs::create_dir_all(&dist)?;
    let version = version()?;
    let bin = tools("packaging/requirements.txt")?;
    let program = program(&bin)?;
    check_glibc(&program)?;
    let folder = folder(&dist, &version, &program)?;
    archive(&dist, &folder)?;
    deb(&dist, &version, &folder)?;
    fs::remove_dir_all(&folder)?;
    python(&bin, &dist)?;
    fs::write(dist.join(format!("tamis-{version}.cdx.json")), serde_json::to_string_pretty(&bill_of_materials()?)?)?;
    checksums(&dist)?;
    for file in files(&dist)? {
        println!("{:>12}  {}", fs::metadata(&file)?.len(), file.display());
    }
    Ok(())
}

fn version() -> Result<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml"))?;
    let line =
        manifest.lines().find_map(|line| line.strip_prefix("version = \"")).context("no version in Cargo.toml")?;
    Ok(line.trim_end_matches('"').to_owned())
}

/// A path with the tools in front.
fn with_tools(bin: &Path) -> Result<OsString> {
    let old = std::env::var_os("PATH").unwrap_or_default();
    Ok(std::env::join_paths(std::iter::once(bin.to_owned()).chain(std::env::split_paths(&old)))?)
}

fn program(bin: &Path) -> Result<PathBuf> {
    let target = format!("{TARGET}.{GLIBC}");
    let build = ["zigbuild", "--release", "--locked", "--package", "tamis-cli", "--target", target.as_str()];
    check(cargo().env("PATH", with_tools(bin)?).args(build))?;
    Ok(crate::run::target()?.join(TARGET).join("release/tamis"))
}

/// No symbol of a newer glibc than is promised.
fn check_glibc(program: &Path) -> Result<()> {
    let bytes = fs::read(program)?;
    let number = |version: &str| version.split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u32>>();
    let mut newest = String::new();
    for at in bytes.windows(6).enumerate().filter(|(_, w)| w == b"GLIBC_").map(|(at, _)| at + 6) {
        let rest = &bytes[at..bytes.len().min(at + 8)];
        let end = rest.iter().position(|b| !b.is_ascii_digit() && *b != b'.').unwrap_or(rest.len());
        let found = String::from_utf8_lossy(&rest[..end]).into_owned();
        if number(&found) > number(&newest) {
            newest = found;
        }
    }
    if newest.is_empty() || number(&newest) > number(GLIBC) {
        bail!("{} needs glibc {newest:?}, and {GLIBC} is promised", program.display());
    }
    Ok(())
}

/// The program with all that belongs to it.
fn folder(dist: &Path, version: &str, program: &Path) -> Result<PathBuf> {
    let folder = dist.join(format!("tamis-{version}-x86_64-linux"));
    fs::create_dir_all(folder.join("completions"))?;
    fs::copy(program, folder.join("tamis"))?;
    for name in ["README.md", "CHANGELOG.md", "LICENSE", "LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(root().join(name), folder.join(name))?;
    }
    let own = folder.join("tamis");
    for (shell, file) in [("bash", "tamis.bash"), ("zsh", "_tamis"), ("fish", "tamis.fish")] {
        fs::write(folder.join("completions").join(file), capture(Command::new(&own).args(["completions", shell]))?)?;
    }
    check(Command::new(&own).arg("man").arg(folder.join("man")))?;
    Ok(folder)
}

/// The same bytes for the same content.
fn tar(from: &Path, names: &[&str], to: &Path) -> Result<()> {
    let same = ["--sort=name", "--mtime=2000-01-01T00:00:00Z", "--owner=0", "--group=0", "--numeric-owner"];
    check(Command::new("tar").args(same).arg("-czf").arg(to).arg("-C").arg(from).args(names))
}

fn archive(dist: &Path, folder: &Path) -> Result<()> {
    let name = folder.file_name().and_then(|n| n.to_str()).context("a folder")?;
    tar(dist, &[name], &dist.join(format!("{name}.tar.gz")))
}

/// A Debian package: an `ar` of two archives (deb(5)).
fn deb(dist: &Path, version: &str, folder: &Path) -> Result<()> {
    let work = dist.join("deb");
    let data = work.join("data");
    let place = |from: &Path, to: &str| -> Result<()> {
        let to = data.join(to);
        fs::create_dir_all(to.parent().context("a folder")?)?;
        fs::copy(from, &to).map(drop).with_context(|| from.display().to_string())
    };
    place(&folder.join("tamis"), "usr/bin/tamis")?;
    place(&folder.join("completions/tamis.bash"), "usr/share/bash-completion/completions/tamis")?;
    place(&folder.join("completions/_tamis"), "usr/share/zsh/vendor-completions/_tamis")?;
    place(&folder.join("completions/tamis.fish"), "usr/share/fish/vendor_completions.d/tamis.fish")?;
    place(&folder.join("LICENSE-MIT"), "usr/share/doc/tamis/copyright")?;
    for page in files(&folder.join("man"))? {
        let name = page.file_name().and_then(|n| n.to_str()).context("a name")?;
        place(&page, &format!("usr/share/man/man1/{name}"))?;
    }
    let size = fs::metadata(folder.join("tamis"))?.len() / 1024;
    let control = work.join("control");
    fs::create_dir_all(&control)?;
    let text = format!(
        "Package: tamis\nVersion: {version}\nArchitecture: amd64\nMaintainer: The tamis founders\nInstalled-Size: {size}\n\
         Depends: libc6 (>= {GLIBC})\nSection: science\nPriority: optional\nDescription: text categorisation you can read\n \
         Finds the few words that matter, trains small classifiers, sets their thresholds well.\n"
    );
    fs::write(control.join("control"), text)?;
    tar(&control, &["./control"], &work.join("control.tar.gz"))?;
    tar(&data, &["."], &work.join("data.tar.gz"))?;
    let mut package = b"!<arch>\n".to_vec();
    let mut member = |name: &str, content: &[u8]| {
        package.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, "100644", content.len()).bytes());
        package.extend_from_slice(content);
        if content.len() % 2 == 1 {
            package.push(b'\n');
        }
    };
    member("debian-binary", b"2.0\n");
    member("control.tar.gz", &fs::read(work.join("control.tar.gz"))?);
    member("data.tar.gz", &fs::read(work.join("data.tar.gz"))?);
    fs::write(dist.join(format!("tamis_{version}_amd64.deb")), package)?;
    Ok(fs::remove_dir_all(work)?)
}

/// The wheel and the source package, and whether the registry would take them.
fn python(bin: &Path, dist: &Path) -> Result<()> {
    let python = bin.join("python");
    let maturin = |words: &[&str]| {
        let mut command = Command::new(&python);
        command.current_dir(root()).env("PATH", with_tools(bin)?).args(["-m", "maturin"]).args(words);
        check(command.arg("--out").arg(dist))
    };
    maturin(&["build", "--release", "--zig", "--target", TARGET, "--compatibility", MANYLINUX])?;
    maturin(&["sdist"])?;
    let packages = files(dist)?.into_iter().filter(|file| {
        let name = file.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        has_end(name, "whl") || has_end(name, "gz") && !name.contains("linux")
    });
    check(Command::new(&python).args(["-m", "twine", "check", "--strict"]).args(packages))
}

fn has_end(name: &str, end: &str) -> bool {
    Path::new(name).extension().is_some_and(|e| e == end)
}

/// Every crate that is compiled in, as CycloneDX has it.
pub(crate) fn bill_of_materials() -> Result<Value> {
    let metadata =
        capture(cargo().args(["metadata", "--locked", "--format-version", "1", "--filter-platform", TARGET]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let tree = capture(cargo().args([
        "tree",
        "--locked",
        "--package",
        "tamis-cli",
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--target",
        TARGET,
        "--format",
        "{p}",
    ]))?;
    let word = |line: &str, at: usize| line.split(' ').nth(at).unwrap_or_default().trim_start_matches('v').to_owned();
    let used: std::collections::BTreeSet<(String, String)> =
        tree.lines().filter(|line| !line.is_empty()).map(|line| (word(line, 0), word(line, 1))).collect();
    let text = |package: &Value, key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let component = |package: &Value| {
        let (name, version) = (text(package, "name"), text(package, "version"));
        json!({
            "type": "library",
            "name": name,
            "version": version,
            "purl": format!("pkg:cargo/{name}@{version}"),
            "licenses": [{ "expression": text(package, "license").replace('/', " OR ") }],
        })
    };
    let components: Vec<Value> =
        packages.iter().filter(|p| used.contains(&(text(p, "name"), text(p, "version")))).map(component).collect();
    if components.len() < used.len() {
        bail!("{} crates are compiled in, and {} are described", used.len(), components.len());
    }
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": { "type": "application", "name": "tamis", "version": version()? } },
        "components": components,
    }))
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.retain(|file| file.is_file());
    files.sort();
    Ok(files)
}

fn checksums(dist: &Path) -> Result<()> {
    let names: Vec<OsString> = files(dist)?.iter().filter_map(|file| file.file_name().map(ToOwned::to_owned)).collect();
    let sums = capture(Command::new("sha256sum").current_dir(dist).args(names))?;
    Ok(fs::write(dist.join("SHA256SUMS"), sums)?)
}

/// What registries would say: every crate can be packaged as it stands with all that it includes, and the list of materials is
/// whole. Nothing is compiled.
pub(crate) fn check_metadata() -> Result<()> {
    let package = ["package", "--quiet", "--workspace", "--exclude", "xtask", "--exclude", "tamis-python"];
    check(cargo().args(package).args(["--no-verify", "--allow-dirty", "--offline"]))?;
    let library = crate::run::target()?.join("package").join(format!("tamis-{}.crate", version()?));
    let packed = capture(Command::new("tar").arg("-tzf").arg(library))?;
    for plan in files(&root().join("studies"))? {
        let name = plan.file_name().and_then(|n| n.to_str()).context("a name")?;
        if !packed.lines().any(|file| file.ends_with(&format!("/studies/{name}"))) {
            bail!("the packed library lacks studies/{name}, which it includes");
        }
    }
    bill_of_materials().map(drop)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A folder as [`folder`] makes it, with something in the place of the program.
    fn made() -> PathBuf {
        let place = std::env::temp_dir().join(format!("tamis-dist-{}", std::process::id()));
        let folder = place.join("tamis-1.2.3-x86_64-linux");
        for part in ["completions", "man"] {
            fs::create_dir_all(folder.join(part)).unwrap();
        }
        let files = [
            "tamis",
            "LICENSE-MIT",
            "completions/tamis.bash",
            "completions/_tamis",
            "completions/tamis.fish",
            "man/tamis.1",
        ];
        for file in files {
            fs::write(folder.join(file), format!("content of {file}")).unwrap();
        }
        folder
    }

    #[test]
    fn a_debian_package_is_one() {
        let folder = made();
        let dist = folder.parent().unwrap();
        deb(dist, "1.2.3", &folder).unwrap();
        let package = dist.join("tamis_1.2.3_amd64.deb");
        let bytes = fs::read(&package).unwrap();
        assert!(bytes.starts_with(b"!<arch>\ndebian-binary   "));
        if crate::run::exists("dpkg-deb", &["--version"]) {
            let fields = capture(Command::new("dpkg-deb").arg("--info").arg(&package)).unwrap();
            assert!(fields.contains("Version: 1.2.3") && fields.contains("libc6 (>= 2.17)"), "{fields}");
            let content = capture(Command::new("dpkg-deb").arg("--contents").arg(&package)).unwrap();
            for place in
                ["./usr/bin/tamis", "./usr/share/man/man1/tamis.1", "./usr/share/bash-completion/completions/tamis"]
            {
                assert!(content.contains(place), "{content}");
            }
        }
        archive(dist, &folder).unwrap();
        let first = fs::read(dist.join("tamis-1.2.3-x86_64-linux.tar.gz")).unwrap();
        archive(dist, &folder).unwrap();
        assert_eq!(first, fs::read(dist.join("tamis-1.2.3-x86_64-linux.tar.gz")).unwrap(), "the same bytes again");
        checksums(dist).unwrap();
        assert!(capture(Command::new("sha256sum").current_dir(dist).args(["--check", "SHA256SUMS"])).is_ok());
        fs::remove_dir_all(dist).unwrap();
    }

    #[test]
    fn newer_glibc_is_noticed() {
        let file = std::env::temp_dir().join(format!("tamis-glibc-{}", std::process::id()));
        fs::write(&file, b"..GLIBC_2.2.5\0..GLIBC_2.17\0").unwrap();
        assert!(check_glibc(&file).is_ok());
        fs::write(&file, b"..GLIBC_2.2.5\0..GLIBC_2.28\0").unwrap();
        assert!(check_glibc(&file).is_err());
        fs::write(&file, b"no symbols").unwrap();
        assert!(check_glibc(&file).is_err());
        fs::remove_file(&file).unwrap();
    }

    #[test]
    fn every_crate_is_in_the_list() {
        let list = bill_of_materials().unwrap();
        let names: Vec<&str> =
            list["components"].as_array().unwrap().iter().filter_map(|c| c["name"].as_str()).collect();
        for name in ["tamis", "tamis-cli", "rayon", "zstd-sys"] {
            assert!(names.contains(&name), "{name}");
        }
        assert!(!names.contains(&"criterion"), "what is only for tests is not in it");
    }
}
