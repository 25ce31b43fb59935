//! Recording forward: operators, views, and what each keeps for its backward.

use super::{Back, Common, Dropped, INPUTS, Id, Node, Role, SAVES, Segment, Storage, Tape, Var, VarData};
use crate::ledger::{Dtype, Group, Shape, Tensor};
use crate::text::tensors;

/// The outputs of a part of forward that backward runs again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remade<const N: usize> {
    pub(crate) outputs: [Var; N],
    segment: Option<usize>,
}

impl Tape<'_> {
    /// A tensor made elsewhere: its storage is counted there (rotary tables, masks).
    pub(crate) fn foreign(&mut self, shape: Shape, dtype: Dtype, needs_grad: bool) -> Var {
        self.var(None, shape, dtype, needs_grad)
    }

    /// A tensor that is put together from what checkpointing kept of it.
    pub(crate) fn gathered(&mut self, shape: Shape, dtype: Dtype) -> Var {
        self.place("all-gather");
        let storage = self.alloc(&tensors::GATHERED_INPUT, shape, dtype, Role::Working);
        self.var(Some(storage), shape, dtype, true)
    }

    /// A layer's input, copied back from the host: by the checkpoint, which holds it beside the layer's program.
    pub(crate) fn brought_back(&mut self, shape: Shape, dtype: Dtype) -> Var {
        self.place("copy to device");
        let storage = self.alloc(&tensors::RETURNED_INPUT, shape, dtype, Role::Working);
        self.hold(storage);
        self.var(Some(storage), shape, dtype, true)
    }

    /// Checkpointing keeps this input in host memory: nothing of it stays here.
    pub(crate) fn offload_for_recomputation(&mut self, x: Var) {
        let VarData { shape, dtype, .. } = self.vars[x.0];
        let bytes = shape.elements(self.numbers).saturating_mul(dtype.bytes());
        self.offloaded = self.offloaded.saturating_add(bytes);
    }

    /// Checkpointing keeps a part of this input, in a tensor of its own, for the recomputation.
    pub(crate) fn keep_part_for_recomputation(&mut self, x: Var, parts: u16) {
        let VarData { shape, dtype, .. } = self.vars[x.0];
        self.alloc(&tensors::LAYER_INPUT, shape.per_block(parts.max(1)), dtype, Role::Saved);
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

    /// Other parts read this tensor as well. `arrives`: those after this one hand on the gradient that they made.
    pub(crate) fn share(&mut self, var: Var, arrives: bool) {
        self.common.push(Common { var, arrives, leaf: false });
    }

    /// The same for a leaf that needs a gradient: both stay until the program forgets the loss.
    pub(crate) fn share_leaf(&mut self, var: Var, arrives: bool, first: bool) {
        self.common.push(Common { var, arrives, leaf: first });
    }

    /// The layer's program holds the attention's weights (`hidden_states, _ = self.self_attn(…)`) until the next ones
    /// take their place, or until it is done.
    pub(crate) fn hold_in_layer(&mut self, weights: Option<Var>) {
        if let Some(old) = std::mem::replace(&mut self.attention_weights, weights) {
            self.drop(old);
        }
    }

    /// The program holds a tensor until the layers of this stack have run, whoever keeps it for backward.
    pub(crate) fn hold_for_stack(&mut self, var: Var) {
        if let Some(storage) = self.vars[var.0].storage {
            match self.storages[storage].role {
                Role::Working => self.held_by_stack.push(storage),
                _ => self.release(storage),
            }
        }
    }

    /// The program holds a tensor until the forward of the whole model is over, whoever keeps it for backward.
    pub(crate) fn hold_for_model(&mut self, var: Var) {
        if let Some(storage) = self.vars[var.0].storage {
            match self.storages[storage].role {
                Role::Working => self.cached.push(storage),
                _ => self.release(storage),
            }
        }
    }

    /// The graph holds a leaf until the program forgets the loss.
    pub(crate) fn hold_for_graph(&mut self, var: Var) {
        if let Some(storage) = self.vars[var.0].storage {
            self.held_by_graph.push(storage);
        }
    }

    /// A leaf that needs a gradient, e.g. because checkpointing asks for it.
    pub(crate) fn ask_gradient(&mut self, var: Var) {
        self.vars[var.0].needs_grad = true;
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

    /// The last operator keeps `var` (as `tensor`) where recomputation cannot see it: in the forward that is run again
    /// as well (as `again`).
    pub(crate) fn keep(&mut self, var: Var, tensor: &'static Tensor, again: &'static Tensor) {
        if self.tracked {
            return self.save(var, tensor);
        }
        let Some(storage) = self.vars[var.0].storage else { return };
        let (module, group) = (self.module, self.group);
        let kept = &mut self.storages[storage];
        if kept.role == Role::Working {
            kept.holders += 1;
            *kept = Storage { tensor: again, module, group, role: Role::Saved, ..*kept };
        }
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

    /// The same for any number of parts.
    pub(crate) fn split_all(
        &mut self,
        operator: &'static str,
        whole: Var,
        parts: impl Iterator<Item = Shape>,
    ) -> Vec<Var> {
        let joined = self.vars[whole.0].shape;
        let point = self.view(operator, whole, joined, Back::Fresh);
        let views = parts.map(|shape| self.view(operator, point, shape, Back::Join)).collect();
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
        let trains = matches!(
            back,
            Back::Linear { .. }
                | Back::Scale { .. }
                | Back::Weight(_)
                | Back::Shared { .. }
                | Back::Parallel(_)
                | Back::Bias(_)
                | Back::Made(Some(_))
        );
        let needs_grad = trains || inputs.iter().any(|input| self.vars[input.0].needs_grad);
        self.recorded = needs_grad && self.tracked;
        let output = self.var(storage, shape, dtype, needs_grad);
        if self.recorded {
            let mut all = [None; INPUTS];
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
    pub(crate) fn keep_weight_copy(&mut self, copy: Id, input: Var, cached: bool) {
        // Only the gradient of the input reads it.
        if self.tracked && self.recorded && self.vars[input.0].needs_grad {
            self.save_storage(copy, &tensors::WEIGHT_COPY, Role::WeightCopy);
            self.release(copy);
        } else {
            // Backward does not keep it.
            self.storages[copy].role = Role::Working;
            if cached {
                self.cached.push(copy);
            } else {
                self.release(copy);
            }
        }
    }

    /// The last operator keeps the copy, and so may the next.
    pub(crate) fn share_weight_copy(&mut self, copy: Id) {
        self.save_storage(copy, &tensors::WEIGHT_COPY, Role::WeightCopy);
    }

    /// No operator from here on reads the copy.
    pub(crate) fn forget_weight_copy(&mut self, copy: Id) {
        self.release(copy);
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

    /// Autocast's context ends: its cache lets go.
    pub(crate) fn leave_autocast(&mut self) {
        for copy in std::mem::take(&mut self.cached) {
            self.release(copy);
        }
    }

    /// The program forgets a variable.
    pub(crate) fn drop(&mut self, var: Var) {
        if let Some(storage) = self.vars[var.0].storage {
            self.release(storage);
        }
    }

    /// The program forgets variables.
    pub(crate) fn drop_all(&mut self, vars: impl IntoIterator<Item = Var>) {
        for var in vars {
            self.drop(var);
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

    /// Runs a part of forward of which only the inputs are kept: backward runs it again. `run` must not drop its inputs.
    pub(crate) fn recomputed(
        &mut self,
        kept: &[(Var, &'static Tensor)],
        run: impl Fn(&mut Self) -> Var,
    ) -> Var {
        let Remade { outputs: [output], .. } = self.remade(kept, |tape| [run(tape)]);
        output
    }

    /// The same; its outputs are dropped by [`Tape::discard`], and made again before others need them in backward.
    pub(crate) fn remade<const N: usize>(
        &mut self,
        kept: &[(Var, &'static Tensor)],
        run: impl Fn(&mut Self) -> [Var; N],
    ) -> Remade<N> {
        let tracked = std::mem::replace(&mut self.tracked, false);
        let (module, group) = (self.module, self.group);
        let outputs = run(self);
        self.tracked = tracked;
        self.recorded = false;
        if !tracked {
            return Remade { outputs, segment: None };
        }
        self.enter(module, group);
        let mut inputs = [None; INPUTS];
        for (slot, (var, _)) in inputs.iter_mut().zip(kept) {
            *slot = Some(*var);
        }
        let segment = self.segments.len();
        let place = self.place("recomputed");
        for output in outputs {
            self.vars[output.0].needs_grad = true;
        }
        let output = outputs.first().copied().unwrap_or(kept[0].0);
        self.nodes.push(Node { place, inputs, output, saves: [None; SAVES], back: Back::Again(segment) });
        self.recorded = true;
        for (var, tensor) in kept {
            self.save(*var, tensor);
        }
        // The second run, whose events and operators belong to backward.
        let forward = std::mem::take(&mut self.forward);
        let nodes = std::mem::take(&mut self.nodes);
        let (last_save, again) = (self.last_save, std::mem::replace(&mut self.again, true));
        let second = run(self);
        let events = std::mem::replace(&mut self.forward, forward);
        let nodes = std::mem::replace(&mut self.nodes, nodes);
        (self.last_save, self.again) = (last_save, again);
        self.recorded = false;
        self.enter(module, group);
        let outputs_of = outputs.into_iter().zip(second).map(|(first, again)| [first, again]).collect();
        self.segments.push(Segment { events, nodes, outputs: outputs_of, done: false });
        Remade { outputs, segment: Some(segment) }
    }

    /// Drops the outputs of a part that is run again before the gradient of `at` is used.
    pub(crate) fn discard<const N: usize>(&mut self, remade: &Remade<N>, at: Var) {
        let Some(segment) = remade.segment else { return };
        self.place("discard");
        for storage in
            remade.outputs.iter().filter_map(|output| self.vars[output.0].storage).collect::<Vec<_>>()
        {
            self.log(storage, false);
            self.storages[storage].role = Role::Working;
        }
        self.dropped.push(Dropped { at, segment });
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
        self.recomputed = true;
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
}
