//! One module into two.
//!
//! The first keeps memory, tables and globals, and every function that ran. A function that did not run, but that the
//! first half can reach, leaves a stub there: it sees to it that the second half is loaded, then calls it through a
//! table of its own. The second half imports what it shares, and fills that table when it is instantiated.

use std::collections::{BTreeSet, HashMap, HashSet};

use anyhow::Context as _;
use trainmem_browser::Result;
use walrus::ir::{Call, Const, InstrSeqId, UnaryOp, Value, Visitor, dfs_in_order};
use walrus::{
    ConstExpr, DataKind, ElementItems, ElementKind, ExportItem, FunctionBuilder, FunctionId, FunctionKind,
    GlobalId, GlobalKind, ImportedFunction, LocalId, MemoryId, Module, ModuleConfig, RefType, TableId,
    ValType,
};

use crate::data::{self, Piece};
use crate::glue::{HIT, LOAD, SHARED, SPLIT};
use crate::prepared::Prepared;

/// What [`split`] makes.
pub(crate) struct Halves {
    pub(crate) first: Vec<u8>,
    pub(crate) rest: Vec<u8>,
    /// Functions in all.
    pub(crate) functions: usize,
    /// Bytes of constants that went with the second half.
    pub(crate) moved: usize,
}

/// The module with every function of its own telling its number when it runs.
pub(crate) fn telling(module: &[u8]) -> Result<Vec<u8>> {
    let mut module = read(module)?;
    let ty = module.types.add(&[ValType::I32], &[]);
    let own = own_functions(&module);
    let (hit, _) = module.add_import_func(SPLIT, HIT, ty);
    for (number, id) in own.into_iter().enumerate() {
        let function = module.funcs.get_mut(id).kind.unwrap_local_mut();
        let entry: InstrSeqId = function.entry_block();
        let mut body = function.builder_mut().instr_seq(entry);
        body.instr_at(0, Call { func: hit });
        body.instr_at(0, Const { value: Value::I32(i32::try_from(number)?) });
    }
    Ok(module.emit_wasm())
}

/// Splits a module: functions whose number is in `run` go first. `linked` is what the linker made, before wasm-bindgen.
pub(crate) fn split(prepared: &Prepared, run: &BTreeSet<usize>, linked: &[u8]) -> Result<Halves> {
    let (mut first, mut rest) = (read(&prepared.module)?, read(&prepared.module)?);
    let plan = Plan::of(&first, run);
    // Both were read from the same bytes: what stands at the same place is the same.
    let twin: HashMap<FunctionId, FunctionId> = first
        .funcs
        .iter()
        .map(walrus::Function::id)
        .zip(rest.funcs.iter().map(walrus::Function::id).collect::<Vec<_>>())
        .collect();
    let functions = own_functions(&first).len();
    let mut numbers = addresses(&first, &plan.cold);
    numbers.entry(String::new()).or_default().extend(&prepared.written);
    let mut moved = data::of_the_rest(linked, &names(&first, &plan.cold), &numbers)?;
    for piece in &mut moved {
        let length = piece.bytes.len();
        piece.bytes = prepared.bytes(piece.address, length).context("a constant out of reach")?.to_vec();
    }

    keep(&mut first, &plan, &moved)?;
    leave(&mut rest, &plan, &twin, &moved)?;
    let bytes = moved.iter().map(|piece| piece.bytes.len()).sum();
    Ok(Halves { first: first.emit_wasm(), rest: rest.emit_wasm(), functions, moved: bytes })
}

pub(crate) fn read(module: &[u8]) -> Result<Module> {
    let mut config = ModuleConfig::new();
    config.generate_producers_section(false);
    let mut module = config.parse(module)?;
    // What the linker left is no longer true of a half.
    let sections: Vec<String> = module.customs.iter().map(|(_, section)| section.name().to_owned()).collect();
    for section in sections.iter().filter(|name| *name != "target_features") {
        module.customs.remove_raw(section);
    }
    Ok(module)
}

fn own_functions(module: &Module) -> Vec<FunctionId> {
    module.funcs.iter_local().map(|(id, _)| id).collect()
}

/// Who goes where, in ids of the first half.
struct Plan {
    /// Functions of the second half.
    cold: HashSet<FunctionId>,
    /// Those of them that the first half can reach, by their slot in the table.
    entries: Vec<FunctionId>,
    /// Functions of the first half, or imports, that the second calls.
    shared: Vec<FunctionId>,
}

impl Plan {
    fn of(module: &Module, run: &BTreeSet<usize>) -> Self {
        let own = own_functions(module);
        let cold: HashSet<FunctionId> = own
            .iter()
            .enumerate()
            .filter(|(number, id)| !run.contains(number) && module.start != Some(**id))
            .map(|(_, id)| *id)
            .collect();
        let mut reached: HashSet<FunctionId> = in_elements(module);
        reached.extend(module.exports.iter().filter_map(|export| match export.item {
            ExportItem::Function(id) => Some(id),
            _ => None,
        }));
        let mut called = HashSet::new();
        for id in own.iter().copied() {
            let targets = functions_in(module, id);
            if cold.contains(&id) { called.extend(targets) } else { reached.extend(targets) }
        }
        let everything = || module.funcs.iter().map(walrus::Function::id);
        Self {
            entries: everything().filter(|id| cold.contains(id) && reached.contains(id)).collect(),
            shared: everything().filter(|id| !cold.contains(id) && called.contains(id)).collect(),
            cold,
        }
    }
}

struct Functions(Vec<FunctionId>);

impl Visitor<'_> for Functions {
    fn visit_function_id(&mut self, id: &FunctionId) {
        self.0.push(*id);
    }
}

/// The functions that one calls or refers to.
fn functions_in(module: &Module, id: FunctionId) -> Vec<FunctionId> {
    let mut found = Functions(Vec::new());
    if let FunctionKind::Local(local) = &module.funcs.get(id).kind {
        dfs_in_order(&mut found, local, local.entry_block());
    }
    found.0
}

fn in_elements(module: &Module) -> HashSet<FunctionId> {
    let mut found = HashSet::new();
    for element in module.elements.iter() {
        match &element.items {
            ElementItems::Functions(ids) => found.extend(ids),
            ElementItems::Expressions(_, expressions) => {
                found.extend(expressions.iter().filter_map(|expression| match expression {
                    ConstExpr::RefFunc(id) => Some(*id),
                    _ => None,
                }));
            }
        }
    }
    found
}

/// Names of functions that are in the second half only.
fn names(module: &Module, cold: &HashSet<FunctionId>) -> HashSet<String> {
    let (mut moved, mut kept) = (HashSet::new(), HashSet::new());
    for function in module.funcs.iter() {
        let names = if cold.contains(&function.id()) { &mut moved } else { &mut kept };
        names.extend(function.name.clone());
    }
    moved.retain(|name| !kept.contains(name));
    moved
}

struct Numbers(BTreeSet<u32>);

impl Visitor<'_> for Numbers {
    fn visit_const(&mut self, constant: &Const) {
        if let Value::I32(number) = constant.value {
            self.0.insert(number.cast_unsigned());
        }
    }

    fn visit_load(&mut self, load: &walrus::ir::Load) {
        self.0.extend(u32::try_from(load.arg.offset));
    }

    fn visit_store(&mut self, store: &walrus::ir::Store) {
        self.0.extend(u32::try_from(store.arg.offset));
    }
}

/// Every number in the first half that may be an address, by the name of the function that it is in.
fn addresses(module: &Module, cold: &HashSet<FunctionId>) -> HashMap<String, BTreeSet<u32>> {
    let mut found: HashMap<String, BTreeSet<u32>> = HashMap::new();
    for (id, local) in module.funcs.iter_local().filter(|(id, _)| !cold.contains(id)) {
        let mut numbers = Numbers(BTreeSet::new());
        dfs_in_order(&mut numbers, local, local.entry_block());
        found.entry(module.funcs.get(id).name.clone().unwrap_or_default()).or_default().extend(numbers.0);
    }
    found
}

/// A short name for the `n`th thing of a kind.
fn shared(kind: char, n: usize) -> String {
    format!("{kind}{n}")
}

pub(crate) fn memory(module: &Module) -> Result<MemoryId> {
    Ok(module.memories.iter().next().context("no memory")?.id())
}

/// Makes `module` the first half.
fn keep(module: &mut Module, plan: &Plan, moved: &[Piece]) -> Result {
    let globals: Vec<GlobalId> = module.globals.iter().map(walrus::Global::id).collect();
    let tables: Vec<TableId> = module.tables.iter().map(walrus::Table::id).collect();
    for (n, global) in globals.into_iter().enumerate() {
        module.exports.add(&shared('g', n), global);
    }
    for (n, table) in tables.into_iter().enumerate() {
        module.exports.add(&shared('t', n), table);
    }
    module.exports.add("m", memory(module)?);
    for (n, function) in plan.shared.iter().enumerate() {
        module.exports.add(&shared('f', n), *function);
    }
    let slots = plan.entries.len() as u64;
    let table = module.tables.add_local(false, slots, Some(slots), RefType::FUNCREF);
    let loaded = module.globals.add_local(ValType::I32, true, false, ConstExpr::Value(Value::I32(0)));
    module.exports.add("s", table);
    module.exports.add("l", loaded);

    let nothing = module.types.add(&[], &[]);
    let (load, _) = module.add_import_func(SPLIT, LOAD, nothing);
    let mut ensure = FunctionBuilder::new(&mut module.types, &[], &[]);
    ensure.func_body().global_get(loaded).unop(UnaryOp::I32Eqz).if_else(
        None,
        |no| {
            no.call(load);
        },
        |_| (),
    );
    let ensure = ensure.finish(Vec::new(), &mut module.funcs);
    for (slot, id) in plan.entries.iter().enumerate() {
        let ty = module.funcs.get(*id).ty();
        let (parameters, results) = {
            let ty = module.types.get(ty);
            (ty.params().to_vec(), ty.results().to_vec())
        };
        let arguments: Vec<LocalId> = parameters.iter().map(|ty| module.locals.add(*ty)).collect();
        let mut stub = FunctionBuilder::new(&mut module.types, &parameters, &results);
        let mut body = stub.func_body();
        body.call(ensure);
        for argument in &arguments {
            body.local_get(*argument);
        }
        body.i32_const(i32::try_from(slot)?).call_indirect(ty, table);
        // The stub takes the place of the function that everybody calls by its id.
        let stub = stub.finish(arguments, &mut module.funcs);
        let kind = std::mem::replace(&mut module.funcs.get_mut(stub).kind, FunctionKind::Uninitialized(ty));
        module.funcs.get_mut(*id).kind = kind;
        module.funcs.delete(stub);
    }
    for id in module.data.iter().map(walrus::Data::id).collect::<Vec<_>>() {
        let data = module.data.get_mut(id);
        if let DataKind::Active { offset: ConstExpr::Value(Value::I32(start)), .. } = data.kind {
            data::erase(&mut data.value, start.cast_unsigned(), moved);
        }
    }
    walrus::passes::gc::run(module);
    Ok(())
}

/// Makes `module` the second half.
fn leave(
    module: &mut Module,
    plan: &Plan,
    twin: &HashMap<FunctionId, FunctionId>,
    moved: &[Piece],
) -> Result {
    for export in module.exports.iter().map(walrus::Export::id).collect::<Vec<_>>() {
        module.exports.delete(export);
    }
    for element in module.elements.iter().map(walrus::Element::id).collect::<Vec<_>>() {
        module.elements.delete(element);
    }
    for data in module.data.iter().map(walrus::Data::id).collect::<Vec<_>>() {
        module.data.delete(data);
    }
    module.memories.iter_mut().for_each(|memory| memory.data_segments.clear());
    module.tables.iter_mut().for_each(|table| table.elem_segments.clear());

    for (n, function) in plan.shared.iter().enumerate() {
        let (id, name) = (twin[function], shared('f', n));
        let ty = module.funcs.get(id).ty();
        if let FunctionKind::Import(imported) = &module.funcs.get(id).kind {
            let import = module.imports.get_mut(imported.import);
            SHARED.clone_into(&mut import.module);
            import.name = name;
        } else {
            let import = module.imports.add(SHARED, &name, id);
            module.funcs.get_mut(id).kind = FunctionKind::Import(ImportedFunction { import, ty });
        }
    }
    let memory = memory(module)?;
    let import = module.imports.add(SHARED, "m", memory);
    module.memories.get_mut(memory).import = Some(import);
    for (n, global) in
        module.globals.iter().map(walrus::Global::id).collect::<Vec<_>>().into_iter().enumerate()
    {
        let import = module.imports.add(SHARED, &shared('g', n), global);
        module.globals.get_mut(global).kind = GlobalKind::Import(import);
    }
    for (n, table) in module.tables.iter().map(walrus::Table::id).collect::<Vec<_>>().into_iter().enumerate()
    {
        let import = module.imports.add(SHARED, &shared('t', n), table);
        module.tables.get_mut(table).import = Some(import);
    }
    let slots = plan.entries.len() as u64;
    let (table, _) = module.add_import_table(SHARED, "s", false, slots, Some(slots), RefType::FUNCREF);
    let entries = plan.entries.iter().map(|id| twin[id]).collect();
    let offset = ConstExpr::Value(Value::I32(0));
    let element =
        module.elements.add(ElementKind::Active { table, offset }, ElementItems::Functions(entries));
    module.tables.get_mut(table).elem_segments.insert(element);
    for piece in moved {
        let offset = ConstExpr::Value(Value::I32(piece.address.cast_signed()));
        let data = module.data.add(DataKind::Active { memory, offset }, piece.bytes.clone());
        module.memories.get_mut(memory).data_segments.insert(data);
    }
    // Once it is here, the stubs need not ask for it.
    let (loaded, _) = module.add_import_global(SHARED, "l", ValType::I32, true, false);
    let mut start = FunctionBuilder::new(&mut module.types, &[], &[]);
    start.func_body().i32_const(1).global_set(loaded);
    module.start = Some(start.finish(Vec::new(), &mut module.funcs));
    walrus::passes::gc::run(module);
    Ok(())
}
