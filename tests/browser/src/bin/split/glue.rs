//! The files of a built page that belong to the program, and the script that loads it.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use trainmem_browser::Result;

/// What the halves import of the script, and the second of the first.
pub(crate) const SPLIT: &str = "split";
/// Loads the second half, at once.
pub(crate) const LOAD: &str = "load";
/// Hears which function runs; in a watched page also the name of the set of all that ran.
pub(crate) const HIT: &str = "hit";
/// What the second half imports of the first.
pub(crate) const SHARED: &str = "first";

/// Appended to wasm-bindgen's script. `REST` is the second half's file.
const REST: &str = include_str!("rest.js");

/// Appended to the script of a watched page: the visits are of people who wait in vain.
const NO_REST: &str = "\nexport const rest = () => new Promise((_, reject) => setTimeout(reject, 500));\n";

/// A built page.
pub(crate) struct Built {
    pub(crate) dist: PathBuf,
    /// The module.
    pub(crate) wasm: PathBuf,
    /// wasm-bindgen's script.
    script: PathBuf,
    /// What both are called, without endings.
    name: String,
}

impl Built {
    /// The page in a folder.
    pub(crate) fn find(dist: PathBuf) -> Result<Self> {
        let name = std::fs::read_dir(&dist)?
            .find_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix("_bg.wasm")?.to_owned()))
            .with_context(|| format!("no module in {}", dist.display()))?;
        let (wasm, script) = (dist.join(format!("{name}_bg.wasm")), dist.join(format!("{name}.js")));
        ensure!(script.is_file(), "no {}", script.display());
        Ok(Self { dist, wasm, script, name })
    }

    /// Has the page keep what its functions tell, and lets no second half come.
    pub(crate) fn listen(&self) -> Result {
        let script = std::fs::read_to_string(&self.script)?;
        let script = with_import(&script, &format!("{HIT}(number) {{ globalThis.{HIT}.add(number); }}"))?;
        std::fs::write(&self.script, format!("globalThis.{HIT} = new Set();\n{script}{NO_REST}"))?;
        Ok(())
    }

    /// Puts the halves in the place of the whole. Names follow the content, as the whole's did.
    pub(crate) fn replace(&self, first: &[u8], rest: &[u8]) -> Result {
        let script = std::fs::read_to_string(&self.script)?;
        let script = with_import(&script, &format!("{LOAD}: loadRest"))?;
        let script = once(
            &script,
            "    const imports = __wbg_get_imports();\n\n    if (typeof module_or_path",
            "    const needed = restIsNeeded() && compileRest();\n    const imports = __wbg_get_imports();\n\n    if (typeof module_or_path",
        )?;
        let script = once(
            &script,
            "await __wbg_load(await module_or_path, imports);\n",
            "await __wbg_load(await module_or_path, imports);\n    await needed;\n",
        )?;
        let script = script + REST;
        let mut hasher = DefaultHasher::new();
        (first, rest, &script).hash(&mut hasher);
        let name = format!("trainmem-{:016x}", hasher.finish());
        let file = |ending: &str| self.dist.join(format!("{name}{ending}"));

        let page = self.dist.join("index.html");
        let html = std::fs::read_to_string(&page)?.replace(&self.name, &name);
        let script = script.replace(&self.name, &name).replace("REST", &format!("{name}_rest.wasm"));
        for old in [&self.wasm, &self.script] {
            std::fs::remove_file(old)?;
        }
        write(&file("_bg.wasm"), first)?;
        write(&file("_rest.wasm"), rest)?;
        write(&file(".js"), script.as_bytes())?;
        write(&page, html.as_bytes())
    }
}

fn write(path: &Path, content: &[u8]) -> Result {
    std::fs::write(path, content).with_context(|| path.display().to_string())
}

/// The script with one more thing for the module to import.
fn with_import(script: &str, import: &str) -> Result<String> {
    once(script, "\n    return {\n", &format!("\n    return {{\n        {SPLIT}: {{ {import} }},\n"))
}

/// Replaces what must stand there exactly once.
fn once(text: &str, from: &str, to: &str) -> Result<String> {
    ensure!(text.matches(from).count() == 1, "wasm-bindgen's script has changed: {from:?} is not in it once");
    Ok(text.replacen(from, to, 1))
}
