//! A tape: the operators of one part of the model, run forward and then backward, as autograd would.
//!
//! Nothing is computed; only storages are born and freed. A storage lives while somebody holds it: the program's
//! variables, an operator that saved it for backward, or a gradient that waits to be read. The rules are PyTorch's
//! (`torch/csrc/autograd/engine.cpp`, `input_buffer.cpp`, `accumulate_grad.h`): operators run backward in the reverse
//! of their forward order; an operator's saved tensors are freed once it has run; a second gradient for the same
//! tensor is added in place when nobody else holds the first.

use super::{Dtype, Group, Shape, Symbols, Tensor};
use crate::architecture::Param;
use crate::text::tensors;

/// Index of a storage on its tape.
pub(crate) type Id = usize;

/// A tensor of the program: a view of a storage through which gradients may flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Var(usize);

/// What a storage is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Lives only while operators run.
    Working,
    /// Kept for backward.
    Saved,
    /// A 16-bit copy of a weight that autocast made and backward keeps.
    WeightCopy,
    /// The gradient of a parameter.
    Gradient,
    /// Inside one operator: the allocator sees it, the program does not.
    Hidden,
}

/// One allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Storage {
    pub(crate) tensor: &'static Tensor,
    pub(crate) module: &'static str,
    pub(crate) group: Group,
    pub(crate) shape: Shape,
    pub(crate) dtype: Dtype,
    pub(crate) bytes: u64,
    pub(crate) role: Role,
    holders: u32,
}

/// A storage is born or freed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) storage: Id,
    pub(crate) born: bool,
    /// Index into [`Tape::places`]: which operator of which module.
    pub(crate) place: usize,
}

/// One number, e.g. the loss.
pub(crate) const SCALAR: Shape = Shape::new(&[super::Dim::Const(1)]);

/// The most that one operator saves (efficient attention with a mask).
const SAVES: usize = 7;

/// An operator, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) module: &'static str,
    pub(crate) operator: &'static str,
    pub(crate) backward: bool,
}

#[derive(Clone, Copy, Debug)]
struct VarData {
    storage: Option<Id>,
    shape: Shape,
    dtype: Dtype,
    needs_grad: bool,
    /// The gradient that waits for this tensor's operator.
    pending: Option<Id>,
}

/// How an operator computes the gradients of its inputs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Back {
    /// Hands the gradient on (views, additions); an input of another dtype gets a cast copy.
    Through,
    /// An addition of a tensor that is repeated along an axis: its gradient is summed down.
    Sum,
    /// A new gradient for each input. One that was broadcast is made at full size first, then summed down.
    Fresh,
    /// The same, with a scratch tensor of the output's size inside the operator.
    FreshWithScratch,
    /// One of the views that a split gave: its gradient waits until the split's own backward joins all.
    Join,
    /// Gradients are views of the incoming one (`cat`).
    Views,
    /// `x²`: the derivative is built from two more tensors of the input's size.
    Square,
    /// Gradients of the input and of the weight; the weight was cast when `cast` is set.
    Linear { weight: Param, bias: Option<Param>, cast: bool },
    /// A product with a weight: its gradient is made at full size, then summed down to the weight's; where the weight
    /// was cast to the output's type (`cast`), its gradient is cast back.
    Scale { weight: Param, cast: bool },
    /// Only a parameter's gradient (`embedding`).
    Weight(Param),
}

#[derive(Clone, Copy, Debug)]
struct Node {
    place: usize,
    inputs: [Option<Var>; 3],
    output: Var,
    saves: [Option<Id>; SAVES],
    back: Back,
}

/// How parameter gradients are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gradients {
    /// Born in backward, kept until the step.
    Born,
    /// Added to one that is there already, then freed.
    Added,
}

/// See the module.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "where the tape stands: each says one independent thing")]
pub(crate) struct Tape<'n> {
    numbers: &'n Symbols,
    /// Element type of the weights.
    weight: Dtype,
    pub(crate) storages: Vec<Storage>,
    vars: Vec<VarData>,
    nodes: Vec<Node>,
    pub(crate) places: Vec<Place>,
    /// What happened in forward.
    pub(crate) forward: Vec<Event>,
    /// What happened in backward.
    pub(crate) backward: Vec<Event>,
    /// Storages that autocast's cache holds until the forward of the whole model is over.
    pub(crate) cached: Vec<Id>,
    /// Length of `forward` when the last tensor was saved: where recomputation may stop.
    last_save: usize,
    /// The gradient of a tied weight that waits for the embedding's.
    tied: Option<(Param, Id)>,
    awaited: Option<Id>,
    tied_in_place: bool,
    waits_for: Option<Param>,
    /// Gradients of a split's views that wait for its backward.
    parked: Vec<(Var, Id)>,
    tracked: bool,
    /// The last operator is one that autograd follows.
    recorded: bool,
    in_backward: bool,
    module: &'static str,
    group: Group,
}

impl<'n> Tape<'n> {
    /// An empty tape; `tracked`: operators save for backward.
    pub(crate) fn new(numbers: &'n Symbols, weight: Dtype, tracked: bool) -> Self {
        Self {
            numbers,
            weight,
            storages: Vec::with_capacity(96),
            vars: Vec::with_capacity(64),
            nodes: Vec::with_capacity(48),
            places: Vec::with_capacity(96),
            forward: Vec::with_capacity(128),
            backward: Vec::with_capacity(256),
            cached: Vec::new(),
            last_save: 0,
            tied: None,
            awaited: None,
            tied_in_place: false,
            waits_for: None,
            parked: Vec::new(),
            tracked,
            recorded: false,
            in_backward: false,
            module: "",
            group: Group::Other,
        }
    }

    /// The numbers behind the symbols.
    pub(crate) const fn numbers(&self) -> &'n Symbols {
        self.numbers
    }

    /// Operators from here on belong to this module.
    pub(crate) const fn enter(&mut self, module: &'static str, group: Group) {
        self.module = module;
        self.group = group;
    }

    // ── forward ──────────────────────────────────────────────────────────────────────────────────────────────

    /// A tensor made elsewhere: its storage is counted there (rotary tables, masks).
    pub(crate) fn foreign(&mut self, shape: Shape, dtype: Dtype, needs_grad: bool) -> Var {
        self.var(None, shape, dtype, needs_grad)
    }

    /// Checkpointing keeps this input, and nothing else, for the recomputation.
    pub(crate) fn keep_for_recomputation(&mut self, x: Var) {
        if let Some(storage) = self.vars[x.0].storage {
            let kept = &mut self.storages[storage];
            kept.holders += 1;
            *kept =
                Storage { tensor: &tensors::LAYER_INPUT, group: Group::Residual, role: Role::Saved, ..*kept };
        }
    }

    /// The tensor that the part before hands over; counted here from now on.
    pub(crate) fn handed(&mut self, shape: Shape, dtype: Dtype, needs_grad: bool) -> Var {
        self.place("input");
        let storage = self.alloc(&tensors::OUTPUT, shape, dtype, Role::Working);
        self.var(Some(storage), shape, dtype, needs_grad)
    }

    /// Runs one operator: `inputs` → a new tensor.
    pub(crate) fn run(
        &mut self,
        operator: &'static str,
        inputs: &[Var],
        shape: Shape,
        dtype: Dtype,
        back: Back,
    ) -> Var {
        let place = self.place(operator);
        let storage = self.alloc(&tensors::OUTPUT, shape, dtype, Role::Working);
        self.node(place, inputs, Some(storage), shape, dtype, back)
    }

    /// A view: no storage of its own, one more holder of the input's.
    pub(crate) fn view(&mut self, operator: &'static str, input: Var, shape: Shape, back: Back) -> Var {
        let VarData { storage, dtype, .. } = self.vars[input.0];
        let place = self.place(operator);
        if let Some(storage) = storage {
            self.storages[storage].holders += 1;
        }
        self.node(place, &[input], storage, shape, dtype, back)
    }

    /// Slices of one tensor: views; backward pads the gradient of each to the whole.
    pub(crate) fn slices<const N: usize>(
        &mut self,
        operator: &'static str,
        whole: Var,
        parts: [Shape; N],
    ) -> [Var; N] {
        parts.map(|shape| self.view(operator, whole, shape, Back::Fresh))
    }

    /// One operator that splits a tensor: views; backward joins their gradients.
    pub(crate) fn split<const N: usize>(
        &mut self,
        operator: &'static str,
        whole: Var,
        parts: [Shape; N],
    ) -> [Var; N] {
        let joined = self.vars[whole.0].shape;
        let point = self.view(operator, whole, joined, Back::Fresh);
        let views = parts.map(|shape| self.view(operator, point, shape, Back::Join));
        self.drop(point);
        views
    }

    fn node(
        &mut self,
        place: usize,
        inputs: &[Var],
        storage: Option<Id>,
        shape: Shape,
        dtype: Dtype,
        back: Back,
    ) -> Var {
        let trains = matches!(back, Back::Linear { .. } | Back::Scale { .. } | Back::Weight(_));
        let needs_grad = trains || inputs.iter().any(|input| self.vars[input.0].needs_grad);
        self.recorded = needs_grad && self.tracked;
        let output = self.var(storage, shape, dtype, needs_grad);
        if self.recorded {
            let mut all = [None; 3];
            for (slot, input) in all.iter_mut().zip(inputs) {
                *slot = Some(*input);
            }
            self.nodes.push(Node { place, inputs: all, output, saves: [None; SAVES], back });
        }
        output
    }

    /// The last operator keeps `var` for its backward, as `tensor`.
    pub(crate) fn save(&mut self, var: Var, tensor: &'static Tensor) {
        if let Some(storage) = self.vars[var.0].storage {
            self.save_storage(storage, tensor, Role::Saved);
        }
    }

    /// The last operator is a product: it keeps each factor for the other's gradient, where that one needs any.
    pub(crate) fn save_factors(&mut self, factors: [(Var, &'static Tensor); 2]) {
        let [(a, a_tensor), (b, b_tensor)] = factors;
        if self.vars[b.0].needs_grad {
            self.save(a, a_tensor);
        }
        if self.vars[a.0].needs_grad {
            self.save(b, b_tensor);
        }
    }

    fn save_storage(&mut self, storage: Id, tensor: &'static Tensor, role: Role) {
        if !self.tracked || !self.recorded {
            return;
        }
        let Some(node) = self.nodes.last_mut() else { return };
        let free = node.saves.iter_mut().find(|slot| slot.is_none());
        debug_assert!(free.is_some(), "an operator saves more than {SAVES} tensors");
        let Some(slot) = free else { return };
        *slot = Some(storage);
        let (module, group) = (self.module, self.group);
        let kept = &mut self.storages[storage];
        kept.holders += 1;
        if kept.role == Role::Working {
            *kept = Storage { tensor, module, group, role, ..*kept };
        }
        self.last_save = self.forward.len();
    }

    /// The last operator makes and keeps one more tensor (statistics, masks, a copy of its input).
    pub(crate) fn save_new(&mut self, tensor: &'static Tensor, shape: Shape, dtype: Dtype) {
        if self.tracked && self.recorded {
            let storage = self.alloc(tensor, shape, dtype, Role::Saved);
            self.save_storage(storage, tensor, Role::Saved);
            self.release(storage);
        }
    }

    /// A mask that is made anew for the last operator and kept by it.
    pub(crate) fn save_mask(&mut self, tensor: &'static Tensor, shape: Shape, dtype: Dtype) {
        if self.tracked && self.recorded {
            self.save_new(tensor, shape, dtype);
        } else {
            self.scratch(shape, dtype);
        }
    }

    /// Autocast's 16-bit copy of a weight.
    pub(crate) fn weight_copy(&mut self, shape: Shape, dtype: Dtype) -> Id {
        let role = if self.tracked { Role::WeightCopy } else { Role::Working };
        self.alloc(&tensors::WEIGHT_COPY, shape, dtype, role)
    }

    /// The last operator keeps the copy; without an operator that does, autocast's cache holds it until forward is
    /// over (`cached`: the weight is trained), or nobody does.
    pub(crate) fn keep_weight_copy(&mut self, copy: Id, cached: bool) {
        if self.tracked && self.recorded {
            self.save_storage(copy, &tensors::WEIGHT_COPY, Role::WeightCopy);
            self.release(copy);
        } else if cached {
            self.cached.push(copy);
        } else {
            self.release(copy);
        }
    }

    /// Made by this part, held beyond it.
    pub(crate) fn lasting(&mut self, tensor: &'static Tensor, shape: Shape, dtype: Dtype, role: Role) {
        self.place("make");
        self.alloc(tensor, shape, dtype, role);
    }

    /// A new tensor that no gradient flows to.
    pub(crate) fn constant(&mut self, operator: &'static str, shape: Shape, dtype: Dtype) -> Var {
        self.place(operator);
        let storage = self.alloc(&tensors::OUTPUT, shape, dtype, Role::Working);
        self.var(Some(storage), shape, dtype, false)
    }

    /// Element type of the weights.
    pub(crate) const fn weight_dtype(&self) -> Dtype {
        self.weight
    }

    /// The dtype of `weight · x`: fp32 weights promote.
    pub(crate) fn promoted(&self, dtype: Dtype) -> Dtype {
        if self.weight == Dtype::Fp32 { Dtype::Fp32 } else { dtype }
    }

    /// A copy that only autocast's cache holds (a bias: no operator needs it in backward).
    pub(crate) fn cache(&mut self, shape: Shape, dtype: Dtype) {
        let storage = self.alloc(&tensors::WEIGHT_COPY, shape, dtype, Role::Working);
        self.cached.push(storage);
    }

    /// The program forgets a variable.
    pub(crate) fn drop(&mut self, var: Var) {
        if let Some(storage) = self.vars[var.0].storage {
            self.release(storage);
        }
    }

    /// The output is handed to the next part, which counts it from now on.
    pub(crate) fn hand_over(&mut self, var: Var) {
        self.place("output");
        self.drop(var);
    }

    /// Whether a tensor is a part of a larger storage.
    pub(crate) fn is_part(&self, var: Var) -> bool {
        let VarData { storage, shape, dtype, .. } = self.vars[var.0];
        let whole = storage.map_or(0, |storage| self.storages[storage].bytes);
        whole > shape.elements(self.numbers).saturating_mul(dtype.bytes())
    }

    /// Shape of a tensor.
    pub(crate) fn shape(&self, var: Var) -> Shape {
        self.vars[var.0].shape
    }

    /// Element type of a tensor.
    pub(crate) fn dtype(&self, var: Var) -> Dtype {
        self.vars[var.0].dtype
    }

    /// A tensor alive while the last operator runs, and no longer.
    pub(crate) fn scratch(&mut self, shape: Shape, dtype: Dtype) {
        let storage = self.alloc(&tensors::OUTPUT, shape, dtype, Role::Working);
        self.release(storage);
    }

    /// Cuts forward short after the last save and forgets everything not saved: what recomputation leaves.
    pub(crate) fn stop_early(&mut self) {
        self.forward.truncate(self.last_save);
        let mut alive = vec![false; self.storages.len()];
        for event in &self.forward {
            alive[event.storage] = event.born;
        }
        self.place("recomputation ends");
        for (storage, alive) in alive.iter().enumerate() {
            let saved = matches!(self.storages[storage].role, Role::Saved | Role::WeightCopy);
            if *alive && !saved {
                self.log(storage, false);
            }
        }
    }

    // ── backward ─────────────────────────────────────────────────────────────────────────────────────────────

    /// Runs backward from `output`, whose gradient the part after hands over, to `input`, whose gradient is handed
    /// on (when it needs one).
    pub(crate) fn run_backward(&mut self, output: Var, input: Option<Var>, gradients: Gradients) {
        self.in_backward = true;
        self.place("gradient");
        let first = self.gradient_of(output);
        if self.storages[first].shape == SCALAR {
            // The loss: whoever called backward() holds its gradient throughout.
            self.hold(first);
        }
        self.vars[output.0].pending = Some(first);
        while let Some(node) = self.nodes.pop() {
            let Place { module, operator, .. } = self.places[node.place];
            self.module = module;
            self.place(operator);
            self.step(&node, gradients);
        }
        if let Some(gradient) = input.and_then(|input| self.vars[input.0].pending.take()) {
            self.place("gradient");
            self.release(gradient);
        }
    }

    fn step(&mut self, node: &Node, gradients: Gradients) {
        let Some(incoming) = self.vars[node.output.0].pending.take() else {
            return node.saves.into_iter().flatten().for_each(|saved| self.release(saved));
        };
        let mut made: [Option<(Var, Id)>; 3] = [None; 3];
        let mut own = None;
        let mut low = [None; 2];
        match node.back {
            Back::Through => {
                for (slot, input) in made.iter_mut().zip(node.inputs) {
                    let Some(input) = input.filter(|input| self.vars[input.0].needs_grad) else { continue };
                    let same = self.vars[input.0].dtype == self.vars[node.output.0].dtype;
                    let gradient = if same { self.hold(incoming) } else { self.gradient_of(input) };
                    *slot = Some((input, gradient));
                }
            }
            Back::Sum => {
                let whole = self.vars[node.output.0].shape.elements(self.numbers);
                for (slot, input) in made.iter_mut().zip(node.inputs) {
                    let Some(input) = input.filter(|input| self.vars[input.0].needs_grad) else { continue };
                    let same = self.vars[input.0].shape.elements(self.numbers) == whole;
                    let gradient = if same { self.hold(incoming) } else { self.gradient_of(input) };
                    *slot = Some((input, gradient));
                }
            }
            Back::Join => {
                let point = node.inputs[0].unwrap_or(node.output);
                let gradient = self.hold(incoming);
                match self.vars[point.0].pending {
                    None => self.vars[point.0].pending = Some(gradient),
                    Some(_) => self.parked.push((point, gradient)),
                }
            }
            Back::Views => {
                for (slot, input) in made.iter_mut().zip(node.inputs) {
                    let Some(input) = input.filter(|input| self.vars[input.0].needs_grad) else { continue };
                    *slot = Some((input, self.hold(incoming)));
                }
            }
            Back::Fresh => self.fresh(node, &mut made),
            Back::FreshWithScratch => {
                let VarData { shape, dtype, .. } = self.vars[node.output.0];
                let hidden = self.alloc(&tensors::SCRATCH, shape, dtype, Role::Hidden);
                self.fresh(node, &mut made);
                self.release(hidden);
            }
            Back::Square => {
                if let Some(input) = node.inputs[0] {
                    let power = self.gradient_of(input);
                    let doubled = self.gradient_of(input);
                    made[0] = Some((input, self.gradient_of(input)));
                    self.release(power);
                    self.release(doubled);
                }
            }
            Back::Linear { weight, bias, cast } => {
                self.fresh(node, &mut made);
                let dtype = self.vars[node.output.0].dtype;
                for (slot, param) in low.iter_mut().zip([Some(weight), bias]) {
                    let Some(param) = param else { continue };
                    if cast {
                        let id = self.alloc(&tensors::GRADIENT, param.shape, dtype, Role::Working);
                        *slot = Some((param, id));
                    } else {
                        self.param_gradient(param, dtype, gradients);
                    }
                }
            }
            Back::Scale { weight, cast } => {
                let VarData { shape, dtype, .. } = self.vars[node.output.0];
                let full = self.alloc(&tensors::GRADIENT, shape, dtype, Role::Working);
                self.fresh(node, &mut made);
                if cast {
                    let id = self.alloc(&tensors::GRADIENT, weight.shape, dtype, Role::Working);
                    low[0] = Some((weight, id));
                } else {
                    self.param_gradient(weight, dtype, gradients);
                }
                self.release(full);
            }
            Back::Weight(weight) => {
                let dtype = self.vars[node.output.0].dtype;
                match self.tied.filter(|(tied, _)| *tied == weight) {
                    None => self.param_gradient(weight, dtype, gradients),
                    Some(_) => {
                        own = Some(self.alloc(&tensors::WEIGHT_GRADIENT, weight.shape, dtype, Role::Working));
                    }
                }
            }
        }
        self.release(incoming);
        let parked = std::mem::take(&mut self.parked);
        for (point, gradient) in parked {
            if point == node.output { self.release(gradient) } else { self.parked.push((point, gradient)) }
        }
        node.saves.into_iter().flatten().for_each(|saved| self.release(saved));
        // The cast of a weight is an operator of its own: its backward runs once the linear's is over.
        for (param, id) in low.into_iter().flatten() {
            self.param_gradient(param, self.weight, gradients);
            self.release(id);
        }
        if let Some(own) = own
            && let Some((_, head)) = self.tied.take()
        {
            self.join_tied(head, own, gradients);
        }
        for (input, gradient) in made.into_iter().flatten() {
            self.deliver(input, gradient);
        }
    }

    fn fresh(&mut self, node: &Node, made: &mut [Option<(Var, Id)>; 3]) {
        let whole = self.vars[node.output.0].shape;
        let size = whole.elements(self.numbers);
        let mut full = None;
        for (slot, input) in made.iter_mut().zip(node.inputs) {
            let Some(input) = input.filter(|input| self.vars[input.0].needs_grad) else { continue };
            let VarData { shape, dtype, .. } = self.vars[input.0];
            // A broadcast factor: one value for many. (A reduction has a smaller output: not this case.)
            let broadcast = node.inputs[1].is_some()
                && shape.elements(self.numbers) < size
                && shape.dims().len() == whole.dims().len()
                && shape.dims().last() == Some(&super::Dim::Const(1));
            if broadcast {
                full = Some(self.alloc(&tensors::GRADIENT, whole, dtype, Role::Working));
            }
            *slot = Some((input, self.gradient_of(input)));
        }
        if let Some(full) = full {
            self.release(full);
        }
    }

    fn gradient_of(&mut self, var: Var) -> Id {
        let VarData { shape, dtype, .. } = self.vars[var.0];
        self.alloc(&tensors::GRADIENT, shape, dtype, Role::Working)
    }

    /// A parameter's gradient.
    fn param_gradient(&mut self, param: Param, dtype: Dtype, gradients: Gradients) {
        let gradient = self.alloc(&tensors::WEIGHT_GRADIENT, param.shape, dtype, Role::Gradient);
        let Storage { module, group, role, .. } = &mut self.storages[gradient];
        (*module, *group) = (param.module(), param.group);
        if gradients == Gradients::Added {
            *role = Role::Working;
            if self.waits_for != Some(param) {
                self.release(gradient);
            }
        }
    }

    /// The gradient of a tied weight from the head is here already: `head` and the embedding's `own` become one.
    /// In a pure dtype the first is a transposed view, to which autograd cannot add in place.
    fn join_tied(&mut self, head: Id, own: Id, gradients: Gradients) {
        let Storage { shape, dtype, module, .. } = self.storages[own];
        let mut sum = head;
        if self.tied_in_place {
            self.release(own);
        } else {
            // From here on the head's part is only an operand of the sum, which is the gradient.
            self.release(head);
            let operand = self.alloc(&tensors::GRADIENT, shape, dtype, Role::Working);
            let role = if gradients == Gradients::Added { Role::Working } else { Role::Gradient };
            sum = self.alloc(&tensors::WEIGHT_GRADIENT, shape, dtype, role);
            self.storages[sum].module = module;
            self.release(operand);
            self.release(own);
        }
        if gradients == Gradients::Added {
            self.release(sum);
        }
    }

    /// The gradient that the output embedding made of the same weight waits from here on; `in_place`: the
    /// embedding's own can be added to it.
    pub(crate) fn await_tied(&mut self, weight: Param, dtype: Dtype, in_place: bool, gradients: Gradients) {
        self.in_backward = true;
        self.place("gradient");
        let role = if gradients == Gradients::Added { Role::Working } else { Role::Gradient };
        let id = self.alloc(&tensors::WEIGHT_GRADIENT, weight.shape, dtype, role);
        self.storages[id].module = weight.module();
        self.tied = Some((weight, id));
        self.awaited = Some(id);
        self.tied_in_place = in_place;
    }

    /// This weight's gradient is not added to the one that is there before another part has made its own share.
    pub(crate) const fn leave_waiting(&mut self, weight: Param) {
        self.waits_for = Some(weight);
    }

    /// The gradient that [`Tape::await_tied`] waits for (by its index).
    pub(crate) const fn awaited(&self) -> Option<Id> {
        self.awaited
    }

    fn deliver(&mut self, input: Var, gradient: Id) {
        match self.vars[input.0].pending {
            None => self.vars[input.0].pending = Some(gradient),
            Some(old) if self.storages[old].holders == 1 => self.release(gradient),
            Some(old) => {
                let sum = self.gradient_of(input);
                self.release(old);
                self.release(gradient);
                self.vars[input.0].pending = Some(sum);
            }
        }
    }

    // ── storages ─────────────────────────────────────────────────────────────────────────────────────────────

    fn var(&mut self, storage: Option<Id>, shape: Shape, dtype: Dtype, needs_grad: bool) -> Var {
        self.vars.push(VarData { storage, shape, dtype, needs_grad, pending: None });
        Var(self.vars.len() - 1)
    }

    fn place(&mut self, operator: &'static str) -> usize {
        self.places.push(Place { module: self.module, operator, backward: self.in_backward });
        self.places.len() - 1
    }

    fn alloc(&mut self, tensor: &'static Tensor, shape: Shape, dtype: Dtype, role: Role) -> Id {
        let bytes = shape.elements(self.numbers).saturating_mul(dtype.bytes());
        let (module, group) = (self.module, self.group);
        self.storages.push(Storage { tensor, module, group, shape, dtype, bytes, role, holders: 1 });
        let id = self.storages.len() - 1;
        self.log(id, true);
        id
    }

    fn hold(&mut self, storage: Id) -> Id {
        self.storages[storage].holders += 1;
        storage
    }

    fn release(&mut self, storage: Id) {
        let holders = &mut self.storages[storage].holders;
        *holders = holders.saturating_sub(1);
        if *holders == 0 {
            self.log(storage, false);
        }
    }

    fn log(&mut self, storage: Id, born: bool) {
        let event = Event { storage, born, place: self.places.len().saturating_sub(1) };
        if self.in_backward { self.backward.push(event) } else { self.forward.push(event) }
    }
}
