//! Which constants are of use to the second half alone.
//!
//! The linker's relocations say which function and which constant refer to which constant. What is reached from no
//! function of the first half is needed only once the second is there, and can come with it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use trainmem_browser::Result;
use wasmparser::{
    DataKind, KnownCustom, Linking, Name, Operator, Parser, Payload, RelocationEntry, RelocationType,
    SymbolInfo,
};

/// Bytes at an address.
pub(crate) struct Piece {
    pub(crate) address: u32,
    pub(crate) bytes: Vec<u8>,
}

/// What the linker wrote, as far as it is about constants.
#[derive(Default)]
struct Linked {
    /// Bodies of functions: place in the file, index.
    bodies: Vec<(Range<usize>, u32)>,
    names: HashMap<u32, String>,
    segments: Vec<Segment>,
    /// Symbols by index: the addresses that a constant takes.
    symbols: Vec<Option<Range<u32>>>,
    code: Vec<RelocationEntry>,
    data: Vec<RelocationEntry>,
    code_start: usize,
    data_start: usize,
}

struct Segment {
    /// Of its bytes in the file.
    start: usize,
    address: u32,
    bytes: Vec<u8>,
}

impl Linked {
    fn read(module: &[u8]) -> Result<Self> {
        let (mut it, mut functions, mut symbols) = (Self::default(), 0, Vec::new());
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        functions += u32::from(matches!(import?.ty, wasmparser::TypeRef::Func(_)));
                    }
                }
                Payload::CodeSectionStart { range, .. } => it.code_start = range.start,
                Payload::CodeSectionEntry(body) => {
                    it.bodies.push((body.range(), functions));
                    functions += 1;
                }
                Payload::DataSection(section) => {
                    it.data_start = section.range().start;
                    for data in section {
                        let data = data?;
                        let start = data.range.end - data.data.len();
                        let address = address_of(&data.kind)?;
                        it.segments.push(Segment { start, address, bytes: data.data.to_vec() });
                    }
                }
                Payload::CustomSection(section) => match section.as_known() {
                    KnownCustom::Linking(linking) => {
                        for part in linking.subsections() {
                            if let Linking::SymbolTable(table) = part? {
                                for symbol in table {
                                    symbols.push(match symbol? {
                                        SymbolInfo::Data { symbol, .. } => symbol,
                                        _ => None,
                                    });
                                }
                            }
                        }
                    }
                    KnownCustom::Reloc(relocations) => {
                        let into = match section.name() {
                            "reloc.CODE" => &mut it.code,
                            "reloc.DATA" => &mut it.data,
                            _ => continue,
                        };
                        for relocation in relocations.entries() {
                            into.push(relocation?);
                        }
                    }
                    KnownCustom::Name(names) => {
                        for part in names {
                            if let Name::Function(functions) = part? {
                                for function in functions {
                                    let function = function?;
                                    it.names.insert(function.index, function.name.to_owned());
                                }
                            }
                        }
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        it.symbols = symbols
            .into_iter()
            .map(|symbol| {
                let symbol = symbol?;
                let start = it.segments.get(symbol.index as usize)?.address + symbol.offset;
                Some(start..start + symbol.size)
            })
            .collect();
        Ok(it)
    }

    /// The function that a place in the code belongs to.
    fn function_at(&self, place: usize) -> Option<&str> {
        let after = self.bodies.partition_point(|(range, _)| range.start <= place);
        let (range, index) = self.bodies.get(after.checked_sub(1)?)?;
        if range.contains(&place) { self.names.get(index).map(String::as_str) } else { None }
    }

    /// The address of a place in the segments.
    fn address_at(&self, place: usize) -> Option<u32> {
        let segment =
            self.segments.iter().find(|it| (it.start..it.start + it.bytes.len()).contains(&place))?;
        Some(segment.address + u32::try_from(place - segment.start).ok()?)
    }
}

fn address_of(kind: &DataKind) -> Result<u32> {
    if let DataKind::Active { offset_expr, .. } = kind
        && let Operator::I32Const { value } = offset_expr.get_operators_reader().read()?
    {
        return Ok(value.cast_unsigned());
    }
    anyhow::bail!("a data segment without a fixed address")
}

fn is_address(relocation: &RelocationEntry) -> bool {
    use RelocationType as R;
    matches!(relocation.ty, R::MemoryAddrLeb | R::MemoryAddrSleb | R::MemoryAddrI32)
}

/// The constants that the functions of the first half don't reach. `cold` names the functions of the second half;
/// whatever isn't named there counts as the first's. `numbers` are those in the code of the first half, by function: in
/// functions that the linker didn't know (wasm-bindgen made them) any number counts as an address.
pub(crate) fn of_the_rest(
    module: &[u8],
    cold: &HashSet<String>,
    numbers: &HashMap<String, BTreeSet<u32>>,
) -> Result<Vec<Piece>> {
    let linked = Linked::read(module)?;
    anyhow::ensure!(!linked.code.is_empty(), "no relocations: was it linked with --emit-relocs?");
    let mut kept: HashSet<u32> = HashSet::new();
    let mut waiting: Vec<u32> = Vec::new();
    for relocation in linked.code.iter().filter(|it| is_address(it)) {
        let place = linked.code_start + relocation.offset as usize;
        if !linked.function_at(place).is_some_and(|name| cold.contains(name)) {
            waiting.push(relocation.index);
        }
    }
    let overlaps = Overlaps::of(&linked.symbols);
    let known: HashSet<&String> = linked.names.values().collect();
    for (_, numbers) in numbers.iter().filter(|(function, _)| !known.contains(function)) {
        waiting.extend(numbers.iter().flat_map(|number| overlaps.at(*number)));
    }
    // From constant to constant.
    let mut refers: HashMap<u32, Vec<u32>> = HashMap::new();
    for relocation in linked.data.iter().filter(|it| is_address(it)) {
        let Some(address) = linked.address_at(linked.data_start + relocation.offset as usize) else {
            continue;
        };
        let mut owners = overlaps.at(address).peekable();
        if owners.peek().is_none() {
            waiting.push(relocation.index);
        }
        for owner in owners {
            refers.entry(owner).or_default().push(relocation.index);
        }
    }
    while let Some(symbol) = waiting.pop() {
        if kept.insert(symbol) {
            waiting.extend(refers.get(&symbol).into_iter().flatten());
        }
    }
    Ok(pieces(&linked, &kept))
}

/// Symbols by address.
struct Overlaps {
    /// Start, end, index; by start.
    sorted: Vec<(u32, u32, u32)>,
    longest: u32,
}

impl Overlaps {
    fn of(symbols: &[Option<Range<u32>>]) -> Self {
        let mut sorted: Vec<(u32, u32, u32)> = symbols
            .iter()
            .zip(0..)
            .filter_map(|(range, index)| range.as_ref().map(|range| (range.start, range.end, index)))
            .collect();
        sorted.sort_unstable();
        let longest = sorted.iter().map(|(start, end, _)| end - start).max().unwrap_or(0);
        Self { sorted, longest }
    }

    /// The symbols that take the byte at an address, and those that end there: code may step backwards from an end.
    fn at(&self, address: u32) -> impl Iterator<Item = u32> {
        let from = self.sorted.partition_point(|(start, ..)| *start < address.saturating_sub(self.longest));
        let near = self.sorted[from..].iter().take_while(move |(start, ..)| *start <= address);
        near.filter(move |(_, end, _)| address <= *end).map(|(.., index)| *index)
    }
}

/// What only symbols that aren't kept take.
fn pieces(linked: &Linked, kept: &HashSet<u32>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for segment in &linked.segments {
        let end = segment.address + u32::try_from(segment.bytes.len()).unwrap_or(0);
        let mut taken = vec![None; segment.bytes.len()];
        for (symbol, index) in linked.symbols.iter().zip(0..) {
            let Some(range) =
                symbol.as_ref().filter(|range| range.start >= segment.address && range.end <= end)
            else {
                continue;
            };
            let keep = kept.contains(&index);
            for byte in
                &mut taken[(range.start - segment.address) as usize..(range.end - segment.address) as usize]
            {
                *byte = Some(byte.unwrap_or(false) || keep);
            }
        }
        let mut at = 0;
        for run in taken.chunk_by(|a, b| a == b) {
            if run[0] == Some(false) {
                let bytes = segment.bytes[at..at + run.len()].to_vec();
                pieces.push(Piece { address: segment.address + u32::try_from(at).unwrap_or(0), bytes });
            }
            at += run.len();
        }
    }
    pieces
}

/// Zeroes in `value`, which lies at `start`, what moves away.
pub(crate) fn erase(value: &mut [u8], start: u32, moved: &[Piece]) {
    for piece in moved {
        let Some(at) = piece.address.checked_sub(start) else { continue };
        if let Some(bytes) = value.get_mut(at as usize..at as usize + piece.bytes.len()) {
            bytes.fill(0);
        }
    }
}
