//! What every first visit would work out in the same way, worked out by the build.
//!
//! The module's `prepare` fills its memory with the answer to the default configuration and with what that was made of.
//! The memory that it leaves takes the place of the memory that the module starts with, so that a visit finds the answer
//! there, and what computes answers can come later.

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use serde_json::json;
use trainmem_browser::{Result, Session, Site};
use walrus::{ConstExpr, DataKind, ExportItem, Module, ir::Value};

use crate::glue::Built;
use crate::halves;

/// The function that the build calls; it is in the module for nobody else.
const PREPARE: &str = "prepare";

/// Instantiates the module by itself (nothing that it imports may be needed), prepares it, and returns its memory's
/// size and what is in it from an address on, as a string of bytes. What lies in blocks that are free again is of no
/// use to anybody: it is taken once more and zeroed (and stays taken; the memory grows beside it).
const RUN: &str = r"(async () => {
  const module = await WebAssembly.compile(await (await fetch(MODULE)).arrayBuffer());
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module))
    (imports[from] ??= {})[name] = () => { throw new Error('prepare calls ' + name); };
  const { exports } = await WebAssembly.instantiate(module, imports);
  const { memory, __wbindgen_malloc: take } = exports;
  exports.prepare();
  const end = memory.buffer.byteLength, taken = [];
  for (let size = 1 << 15; size >= 4; size -= size > 512 ? size >> 3 : 4) {
    for (;;) {
      const at = take(size, 1) >>> 0;
      taken.push([at, size]);
      new Uint8Array(memory.buffer, at, size).fill(0);
      if (at + size > end) break;
    }
  }
  const bytes = new Uint8Array(memory.buffer);
  let last = bytes.length;
  while (last > START && bytes[last - 1] === 0) last--;
  let text = '';
  for (let at = START; at < last; at += 8192) text += String.fromCharCode(...bytes.subarray(at, Math.min(last, at + 8192)));
  return [bytes.length, text];
})()";

/// A module that starts prepared.
pub(crate) struct Prepared {
    /// The module.
    pub(crate) module: Vec<u8>,
    /// What its memory starts with, from `start` on; below it is the stack.
    memory: Vec<u8>,
    start: u32,
    /// Words that preparing wrote: whatever constant one of them may point to is in use.
    pub(crate) written: BTreeSet<u32>,
}

impl Prepared {
    /// Prepares the module of a built page.
    pub(crate) fn of(built: &Built) -> Result<Self> {
        let mut module = halves::read(&std::fs::read(&built.wasm)?)?;
        let before = segments(&module)?;
        let start = before.iter().map(|(address, _)| *address).min().context("a module without constants")?;
        let runtime = tokio::runtime::Runtime::new()?;
        let (size, memory) = runtime.block_on(run(built, start))?;

        let mut old = vec![0; memory.len()];
        for (address, bytes) in &before {
            let at = (address - start) as usize;
            let length = bytes.len().min(old.len().saturating_sub(at));
            old[at..at + length].copy_from_slice(&bytes[..length]);
        }
        let words = memory.chunks_exact(4).zip(old.chunks_exact(4)).filter(|(new, old)| new != old);
        let written = words.map(|(new, _)| u32::from_le_bytes([new[0], new[1], new[2], new[3]])).collect();

        for id in module.data.iter().map(walrus::Data::id).collect::<Vec<_>>() {
            module.data.delete(id);
        }
        let id = halves::memory(&module)?;
        let offset = ConstExpr::Value(Value::I32(start.cast_signed()));
        let data = module.data.add(DataKind::Active { memory: id, offset }, memory.clone());
        let held = module.memories.get_mut(id);
        held.data_segments = std::iter::once(data).collect();
        held.initial = size / (1 << 16);
        let export = module.exports.iter().find(|export| export.name == PREPARE).context("no `prepare`")?;
        ensure!(matches!(export.item, ExportItem::Function(_)), "`prepare` is no function");
        let export = export.id();
        module.exports.delete(export);
        Ok(Self { module: module.emit_wasm(), memory, start, written })
    }

    /// What stands at an address at the start.
    pub(crate) fn bytes(&self, address: u32, length: usize) -> Option<&[u8]> {
        let at = address.checked_sub(self.start)? as usize;
        self.memory.get(at..at + length)
    }
}

/// Address and bytes of each data segment.
fn segments(module: &Module) -> Result<Vec<(u32, Vec<u8>)>> {
    let segment = |data: &walrus::Data| match data.kind {
        DataKind::Active { offset: ConstExpr::Value(Value::I32(start)), .. } => {
            Ok((start.cast_unsigned(), data.value.clone()))
        }
        _ => anyhow::bail!("a data segment without a fixed address"),
    };
    module.data.iter().map(segment).collect()
}

/// Size of the memory, and its bytes from `start` to the last that isn't zero.
async fn run(built: &Built, start: u32) -> Result<(u64, Vec<u8>)> {
    let session = Session::with_site("en-US", Site::of(built.dist.clone()).await?).await?;
    let page = session.page();
    let name = built.wasm.file_name().and_then(|name| name.to_str()).context("a name")?;
    let script = RUN.replace("MODULE", &json!(format!("{}{name}", page.url)).to_string());
    let script = script.replace("START", &start.to_string());
    let result = async {
        page.visit("").await?;
        page.eval(&script).await
    }
    .await;
    session.end().await?;
    let (size, text): (u64, String) = serde_json::from_value(result?)?;
    let bytes = text.chars().map(|char| Ok(u8::try_from(u32::from(char))?)).collect::<Result<_>>()?;
    Ok((size, bytes))
}
