//! Running backward: operators in reverse, gradients that wait, are added, or are handed on.

use super::{
    Back, Common, Dropped, Event, Gradients, INPUTS, Id, Node, Parallel, Place, Role, SCALAR, Storage, Tape,
    Var, VarData,
};
use crate::architecture::Param;
use crate::ledger::{Dim, Dtype, Shape, Symbols};
use crate::text::tensors;

/// Operators whose backward multiplies matrices, one after another.
const MULTIPLIES: [&str; 3] = ["linear", "linear 4-bit", "linear 8-bit"];

/// The gradients that one operator made, for each input that needs one.
type Made = [Option<(Var, Id)>; INPUTS];

impl Tape<'_> {
    /// Runs backward from `output`, whose gradient the part after hands over, to `input`, whose gradient is handed
    /// on (when it needs one).
    pub(crate) fn run_backward(&mut self, output: Var, input: Option<Var>, gradients: Gradients) {
        self.in_backward = true;
        if let Some(last) = self.nodes.last() {
            self.module = self.places[last.place].module;
        }
        self.place("gradient");
        let first = self.gradient_of(output);
        if self.storages[first].shape == SCALAR {
            // The loss: whoever called backward() holds its gradient throughout.
            self.hold(first);
        }
        self.vars[output.0].pending = Some(first);
        for Common { var, arrives, .. } in self.common.clone() {
            if arrives && var != output {
                self.vars[var.0].pending = Some(self.gradient_of(var));
            }
        }
        self.arriving = self.backward.len();
        while let Some(node) = self.nodes.pop() {
            let Place { module, operator, .. } = self.places[node.place];
            self.module = module;
            self.place(operator);
            self.step(&node, gradients);
        }
        for Common { var, leaf, .. } in self.common.clone() {
            let Some(gradient) = self.vars[var.0].pending.take() else { continue };
            self.place("gradient");
            if leaf { self.held_by_graph.push(gradient) } else { self.release(gradient) }
        }
        if let Some(gradient) = input.and_then(|input| self.vars[input.0].pending.take()) {
            self.place("gradient");
            self.release(gradient);
        }
    }

    fn step(&mut self, node: &Node, gradients: Gradients) {
        while let Some(index) = self.dropped.iter().position(|dropped| dropped.at == node.output) {
            let Dropped { segment, .. } = self.dropped.swap_remove(index);
            self.remake(segment);
        }
        let Some(incoming) = self.vars[node.output.0].pending.take() else {
            return node.saves.into_iter().flatten().for_each(|saved| self.release(saved));
        };
        if let Back::Again(segment) = node.back {
            return self.run_again(segment, node, incoming);
        }
        let late = std::mem::take(&mut self.late);
        let mut made = self.inputs(node, incoming);
        self.multiplies = MULTIPLIES.contains(&self.places[node.place].operator);
        let mut cast = self.weights(node, gradients);
        if std::mem::take(&mut self.multiplies) {
            self.workspace();
        }
        // What was recomputed is handed to the operator and to nobody else: it goes with the operator's own variables.
        if self.recomputed {
            node.saves.into_iter().flatten().for_each(|saved| self.release(saved));
        }
        self.reduce(&mut made);
        if let Some(bias) = self.bias(node, gradients) {
            cast[1] = Some(bias);
        }
        self.release(incoming);
        let parked = std::mem::take(&mut self.parked);
        for (point, gradient) in parked {
            if point == node.output { self.release(gradient) } else { self.parked.push((point, gradient)) }
        }
        if !self.recomputed {
            node.saves.into_iter().flatten().for_each(|saved| self.release(saved));
        }
        if let Back::Made(Some(weight)) = node.back {
            self.param_gradient(weight, self.weight, gradients);
        }
        for (param, own) in cast.into_iter().flatten() {
            if let Back::Shared { cast, first, .. } = node.back {
                self.add_share(param, own, cast, first, gradients);
                continue;
            }
            match self.tied {
                Some((tied, head)) if tied == param => {
                    self.tied = None;
                    self.join_tied(tied, head, own, gradients);
                }
                // The cast of a weight is an operator of its own: its backward runs once the linear's is over, and that
                // of the input's cast, which came after it in forward.
                _ if self.input_was_cast(node) => self.late.push((param, own)),
                _ => self.cast_gradient(node, param, own, gradients),
            }
        }
        for gradient in std::mem::take(&mut self.accumulating) {
            self.release(gradient);
        }
        for (input, gradient) in made.into_iter().flatten() {
            self.deliver(input, gradient);
        }
        for (param, own) in late {
            self.param_gradient(param, Dtype::Fp32, gradients);
            self.release(own);
        }
    }

    /// A weight's gradient in the weight's own type.
    fn cast_gradient(&mut self, node: &Node, param: Param, own: Id, gradients: Gradients) {
        // Autocast casts what is fp32; an adapter may be, in a 16-bit model.
        let linear = matches!(node.back, Back::Linear { .. });
        let stored = if linear { Dtype::Fp32 } else { self.weight };
        self.param_gradient(param, stored, gradients);
        self.release(own);
    }

    /// Whether the operator before this one, whose backward is next, cast the input of this linear.
    fn input_was_cast(&self, node: &Node) -> bool {
        let Some(before) = self.nodes.last() else { return false };
        let cast = |from: Var| self.vars[from.0].dtype != self.vars[before.output.0].dtype;
        matches!((node.back, before.back), (Back::Linear { .. }, Back::Through))
            && node.inputs[0] == Some(before.output)
            && before.inputs[0].is_some_and(cast)
    }

    /// The gradients of an operator's inputs.
    fn inputs(&mut self, node: &Node, incoming: Id) -> Made {
        let VarData { shape, dtype, .. } = self.vars[node.output.0];
        match node.back {
            Back::Through | Back::Bias(_) => self.hand_on(node, incoming, |var, _| var.dtype == dtype),
            Back::InPlace => {
                let kept = node.inputs[0].zip(node.saves[0]);
                let mut made = [None; INPUTS];
                made[0] = kept.map(|(input, gradient)| (input, self.hold(gradient)));
                made
            }
            Back::Views => self.hand_on(node, incoming, |_, _| true),
            Back::Sum => {
                let whole = shape.elements(self.numbers);
                self.hand_on(node, incoming, |var, numbers| {
                    var.shape.elements(numbers) == whole && var.dtype == dtype
                })
            }
            Back::Join => {
                let point = node.inputs[0].unwrap_or(node.output);
                let gradient = self.hold(incoming);
                match self.vars[point.0].pending {
                    None => self.vars[point.0].pending = Some(gradient),
                    Some(_) => self.parked.push((point, gradient)),
                }
                [None; INPUTS]
            }
            Back::Fresh | Back::Linear { .. } | Back::Shared { .. } => self.fresh(node),
            Back::Beside(tensor, shape, dtype) => {
                let other = self.alloc(tensor, shape, dtype, Role::Working);
                let made = self.fresh(node);
                self.release(other);
                made
            }
            Back::ParallelLoss => {
                let Some(input) = node.inputs[0] else { return [None; INPUTS] };
                let VarData { shape, .. } = self.vars[input.0];
                let each = shape.with_last(Dim::Const(1));
                // For each token: its label, that among this rank's rows, and its place; whether it is; -1 where it
                // is, and the incoming gradient.
                let tokens =
                    [Dtype::Int64, Dtype::Int64, Dtype::Int64, Dtype::Bool, Dtype::Fp32, Dtype::Fp32];
                let tokens = tokens.map(|dtype| self.alloc(&tensors::SCRATCH, each, dtype, Role::Working));
                // Where the labels are, the exponential and their sum, of which two are alive beside the gradient.
                let steps =
                    [(); 2].map(|()| self.alloc(&tensors::SCRATCH, shape, Dtype::Fp32, Role::Working));
                let made = self.fresh(node);
                tokens.into_iter().chain(steps).for_each(|scratch| self.release(scratch));
                made
            }
            Back::Parallel(parallel) => {
                if let Some(whole) = parallel.whole {
                    if parallel.regathers {
                        let gathered = self.alloc(&tensors::GATHERED_INPUT, whole, dtype, Role::Working);
                        self.until_weights.push(gathered);
                    }
                    let gradient = self.alloc(&tensors::GRADIENT, whole, dtype, Role::Working);
                    self.until_weights.push(gradient);
                }
                self.fresh(node)
            }
            Back::Made(_) => {
                // Whether the incoming gradient is 1 is asked first: a number, and its comparison.
                let one = self.alloc(&tensors::SCRATCH, SCALAR, Dtype::Fp32, Role::Working);
                let equal = Shape::new(&[Dim::Const(2)]);
                let equal = self.alloc(&tensors::SCRATCH, equal, Dtype::Bool, Role::Working);
                self.release(one);
                self.release(equal);
                let kept = node.inputs[0].zip(node.saves[0]);
                [kept.map(|(input, gradient)| (input, self.hold(gradient))), None, None, None]
            }
            Back::Put => {
                let zeros = node.inputs[0].map(|input| self.gradient_of(input));
                let made = self.fresh(node);
                if let Some(zeros) = zeros {
                    self.release(zeros);
                }
                made
            }
            Back::FreshWithScratch(shape, dtype) => {
                let role = if self.workspace.is_some() { Role::Working } else { Role::Hidden };
                let hidden = self.alloc(&tensors::SCRATCH, shape, dtype, role);
                let made = self.fresh(node);
                self.release(hidden);
                made
            }
            Back::Square => {
                let Some(input) = node.inputs[0] else { return [None; INPUTS] };
                let power = self.gradient_of(input);
                let doubled = self.gradient_of(input);
                let gradient = self.gradient_of(input);
                self.release(power);
                self.release(doubled);
                [Some((input, gradient)), None, None, None]
            }
            Back::Scale { .. } => {
                // The weight's share, before it is summed down.
                let full = self.alloc(&tensors::GRADIENT, shape, dtype, Role::Working);
                self.until_weights.push(full);
                self.fresh(node)
            }
            Back::Weight(_) | Back::Again(_) => [None; INPUTS],
        }
    }

    /// The gradients of an operator's weights. Those that are not final yet (made in the compute dtype, or one of two
    /// shares of a tied weight) are given back.
    fn weights(&mut self, node: &Node, gradients: Gradients) -> [Option<(Param, Id)>; 2] {
        let (params, cast) = match node.back {
            Back::Linear { weight, cast, .. } if self.sums_bias(node) => ([Some(weight), None], cast),
            Back::Linear { weight, bias, cast } => ([Some(weight), bias], cast),
            Back::Scale { weight, cast } => ([Some(weight), None], cast),
            Back::Shared { weight, .. } => ([Some(weight), None], true),
            Back::Bias(bias) => ([None, Some(bias)], false),
            Back::Parallel(Parallel { weight, bias, fused, .. }) => {
                ([(!fused).then_some(weight), bias], false)
            }
            Back::Weight(weight) => ([Some(weight), None], self.tied.is_some_and(|(tied, _)| tied == weight)),
            _ => return [None; 2],
        };
        let shares = params.map(|param| self.param_share(node, param?, cast, gradients));
        self.release_whole();
        shares
    }

    fn release_whole(&mut self) {
        while let Some(whole) = self.until_weights.pop() {
            self.release(whole);
        }
    }

    /// Runs a segment of forward again.
    fn replay(&mut self, segment: usize) {
        self.place("recompute");
        let place = self.places.len() - 1;
        let events = std::mem::take(&mut self.segments[segment].events);
        self.backward.extend(events.into_iter().map(|event| Event { place, ..event }));
        self.segments[segment].done = true;
    }

    /// Makes outputs again that forward dropped.
    fn remake(&mut self, segment: usize) {
        self.replay(segment);
        for [first, again] in self.segments[segment].outputs.clone() {
            // The segment's own output is the storage of the first run from here on.
            self.drop(again);
            if let Some(storage) = self.vars[first.0].storage {
                self.log(storage, true);
            }
        }
    }

    /// Backward through a segment, which is run again first unless that has happened. Inputs and output are held until it
    /// is through.
    fn run_again(&mut self, segment: usize, node: &Node, incoming: Id) {
        let whole = !self.segments[segment].done;
        if whole {
            self.replay(segment);
        }
        let nodes = std::mem::take(&mut self.segments[segment].nodes);
        let mut held = Node { inputs: [None; INPUTS], back: Back::Through, ..*node };
        held.output = self.var(None, SCALAR, Dtype::Fp32, false);
        self.vars[node.output.0].pending = Some(incoming);
        for [first, again] in self.segments[segment].outputs.clone() {
            self.vars[again.0].pending = self.vars[first.0].pending.take();
            if whole && let Some(free) = held.saves.iter_mut().find(|slot| slot.is_none()) {
                *free = self.vars[again.0].storage;
            }
        }
        self.nodes.push(held);
        self.nodes.extend(nodes);
    }

    /// The gradient of a weight: what is not final yet is given back.
    fn param_share(
        &mut self,
        node: &Node,
        param: Param,
        cast: bool,
        gradients: Gradients,
    ) -> Option<(Param, Id)> {
        let dtype = self.vars[node.output.0].dtype;
        if cast {
            return Some((param, self.alloc(&tensors::GRADIENT, param.shape, dtype, Role::Working)));
        }
        self.param_gradient(param, dtype, gradients);
        None
    }

    /// A product's bias was repeated for every token: its gradient is the product's own, summed down afterwards. (A
    /// norm or a convolution makes that of its bias itself.)
    fn sums_bias(&self, node: &Node) -> bool {
        self.places[node.place].operator == "linear"
    }

    /// The gradient of such a bias.
    fn bias(&mut self, node: &Node, gradients: Gradients) -> Option<(Param, Id)> {
        match node.back {
            Back::Linear { bias: Some(bias), cast, .. } if self.sums_bias(node) => {
                self.param_share(node, bias, cast, gradients)
            }
            _ => None,
        }
    }

    /// Hands the incoming gradient on to each input that it fits; the others get one of their own.
    fn hand_on(&mut self, node: &Node, incoming: Id, fits: impl Fn(&VarData, &Symbols) -> bool) -> Made {
        node.inputs.map(|input| {
            let input = input.filter(|input| self.vars[input.0].needs_grad)?;
            let fits = fits(&self.vars[input.0], self.numbers);
            Some((input, if fits { self.hold(incoming) } else { self.gradient_of(input) }))
        })
    }

    /// A new gradient for each input. That of a factor that was repeated or widened is made like the output first, and
    /// summed or cast once those of all inputs are there (`validate_outputs` of the engine).
    fn fresh(&mut self, node: &Node) -> Made {
        let VarData { shape: whole, dtype: wide, .. } = self.vars[node.output.0];
        let size = whole.elements(self.numbers);
        let mut made = [None; INPUTS];
        for (slot, input) in made.iter_mut().zip(node.inputs) {
            let Some(input) = input.filter(|input| self.vars[input.0].needs_grad) else { continue };
            let VarData { shape, dtype, .. } = self.vars[input.0];
            // One value for many. (A reduction has a smaller output: not this case.)
            let elements = shape.elements(self.numbers);
            let repeated = node.inputs[1].is_some()
                && elements < size
                && shape.dims().len() == whole.dims().len()
                && shape.dims().last() == Some(&Dim::Const(1));
            let widened = dtype != wide && elements == size;
            *slot = Some(if repeated || widened {
                self.unreduced.push(input);
                (input, self.alloc(&tensors::GRADIENT, whole, wide, Role::Working))
            } else {
                (input, self.gradient_of(input))
            });
        }
        made
    }

    /// Sums or casts the gradients that were made like the output.
    fn reduce(&mut self, made: &mut Made) {
        let unreduced = std::mem::take(&mut self.unreduced);
        for (input, gradient) in made.iter_mut().flatten().filter(|(input, _)| unreduced.contains(input)) {
            let raw = std::mem::replace(gradient, self.gradient_of(*input));
            self.release(raw);
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
        *role = gradients.role();
        if std::mem::take(&mut self.multiplies) {
            self.workspace();
        }
        if gradients.pass() && self.waits_for != Some(param) {
            self.step_on(param.shape, dtype, gradients);
            // It is accumulated once its operator is through and has let go of what it kept.
            self.accumulating.push(gradient);
        }
    }

    /// The gradient of a tied weight from the head is here already: `head` and the embedding's `own` become one.
    /// In a pure dtype the first is a transposed view, to which autograd cannot add in place.
    fn join_tied(&mut self, weight: Param, head: Id, own: Id, gradients: Gradients) {
        let Storage { shape, dtype, module, .. } = self.storages[own];
        let mut sum = head;
        if self.tied_in_place {
            self.release(own);
        } else {
            // From here on the head's part is only an operand of the sum, which is the gradient.
            self.release(head);
            let operand = self.alloc(&tensors::GRADIENT, shape, dtype, Role::Working);
            sum = self.alloc(&tensors::WEIGHT_GRADIENT, shape, dtype, gradients.role());
            self.storages[sum].module = module;
            self.release(operand);
            self.release(own);
        }
        if gradients.pass() && self.waits_for != Some(weight) {
            self.step_on(shape, dtype, gradients);
            self.release(sum);
        }
    }

    /// One more gradient of a weight that many operators read. The first is a transposed view, to which autograd cannot
    /// add in place; their sum is not.
    fn add_share(&mut self, weight: Param, own: Id, cast: bool, first: bool, gradients: Gradients) {
        let (sum, summed) = match self.shared.take() {
            None => (own, false),
            Some((old, summed)) => {
                let Storage { shape, dtype, .. } = self.storages[own];
                let sum =
                    if summed { old } else { self.alloc(&tensors::GRADIENT, shape, dtype, Role::Working) };
                if !summed {
                    self.release(old);
                }
                self.release(own);
                (sum, true)
            }
        };
        if !first {
            self.shared = Some((sum, summed));
        } else if cast {
            self.param_gradient(weight, self.weight, gradients);
            self.release(sum);
        } else {
            // The sum is the gradient from here on.
            self.release(sum);
            self.param_gradient(weight, self.weight, gradients);
        }
    }

    /// What stepping on one weight in backward makes beside its gradient.
    fn step_on(&mut self, shape: Shape, dtype: Dtype, gradients: Gradients) {
        if let Gradients::Stepped { copies, wide } = gradients {
            let dtype = if wide { Dtype::Fp32 } else { dtype };
            let made: Vec<Id> = (0..copies)
                .map(|_| self.alloc(&tensors::STEP_COPY_ALONE, shape, dtype, Role::Working))
                .collect();
            for id in made {
                self.release(id);
            }
        }
    }

    /// The gradient that the output embedding made of the same weight waits from here on; `in_place`: the
    /// embedding's own can be added to it.
    pub(crate) fn await_tied(&mut self, weight: Param, dtype: Dtype, in_place: bool, gradients: Gradients) {
        self.in_backward = true;
        self.place("gradient");
        let id = self.alloc(&tensors::WEIGHT_GRADIENT, weight.shape, dtype, gradients.role());
        self.storages[id].module = weight.module();
        self.tied = Some((weight, id));
        self.awaited = Some(id);
        self.tied_in_place = in_place;
    }

    /// This weight's gradient is not added to the one that is there before another part has made its own share.
    pub(crate) const fn leave_waiting(&mut self, weight: Param) {
        self.waits_for = Some(weight);
    }

    /// Whether this gradient is only an operand of a tied weight's: the sum is another tensor.
    pub(crate) fn is_operand(&self, storage: Id) -> bool {
        self.awaited == Some(storage) && !self.tied_in_place
    }

    /// Whether this is the gradient that another part waits for, to add its own share.
    pub(crate) fn waits(&self, storage: Id) -> bool {
        let Storage { tensor, module, .. } = self.storages[storage];
        let own = |weight: Param| {
            std::ptr::eq(tensor, &raw const tensors::WEIGHT_GRADIENT) && module == weight.module()
        };
        self.waits_for.is_some_and(own)
    }

    /// The gradient that [`Tape::await_tied`] waits for (by its index).
    pub(crate) const fn awaited(&self) -> Option<Id> {
        self.awaited
    }

    /// The rest of a tensor of which a gradient is a slice: it stays as long.
    pub(crate) fn keep_beside_gradients(&mut self, shape: Shape, dtype: Dtype) {
        let rest = self.alloc(&tensors::GRADIENT, shape, dtype, Role::Working);
        self.beside_gradients.push(rest);
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
}
