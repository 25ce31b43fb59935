//! A tape: the operators of one part of the model, run forward and then backward, as autograd would.
//!
//! Nothing is computed; only storages are born and freed. A storage lives while somebody holds it: the program's
//! variables, an operator that saved it for backward, or a gradient that waits to be read. The rules are PyTorch's
//! (`torch/csrc/autograd/engine.cpp`, `input_buffer.cpp`, `accumulate_grad.h`): operators run backward in the reverse
//! of their forward order; an operator's saved tensors are freed once it has run; a second gradient for the same
//! tensor is added in place when nobody else holds the first.

mod backward;
mod forward;

use super::{Dtype, Group, Shape, Symbols, Tensor};
use crate::architecture::Param;

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
    /// The gradient of a parameter that does not wait for the step: it is stepped on at once, or taken by an engine.
    Passing,
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
    /// Made in backward, by a recomputation.
    pub(crate) later: bool,
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
/// The most that one operator reads (attention with a bias).
const INPUTS: usize = 4;

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
    /// The same, with a scratch tensor inside the operator.
    FreshWithScratch(Shape, Dtype),
    /// A new gradient that values are put into: zeros first, then a copy of them with the values (indexing).
    Put,
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
    /// A linear that reads a weight which others of this tape read as well: gradients of the weight are added up, the
    /// `first` one in forward being the last in backward.
    Shared { weight: Param, cast: bool, first: bool },
    /// A gradient for the input; meanwhile something else is made (a frozen weight again, an operator's own steps), in
    /// this shape and type.
    Beside(&'static Tensor, Shape, Dtype),
    /// The loss over a vocabulary that ranks share: beside the gradient of its input, what
    /// `torch/distributed/tensor/parallel/loss.py` (`_nll_loss_and_log_softmax_backward`) makes step by step.
    ParallelLoss,
    /// A tensor-parallel linear: see [`Parallel`].
    Parallel(Parallel),
    /// Adds a parameter: its gradient is the incoming one, summed down.
    Bias(Param),
    /// The gradient of the input takes the place of what was kept.
    InPlace,
    /// Runs again what was not kept, and then backward through it: index into the tape's segments.
    Again(usize),
    /// Gradients were made in forward and kept: of the input, and of this weight.
    Made(Option<Param>),
}

/// A linear of Megatron (`tensor_parallel/layers.py`) or Transformer Engine (`pytorch/module/linear.py`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parallel {
    pub(crate) weight: Param,
    pub(crate) bias: Option<Param>,
    /// Under sequence parallelism the input is one rank's tokens: its gradient is made for all of them, in this shape, and
    /// reduce-scattered.
    pub(crate) whole: Option<Shape>,
    /// The input of all ranks is gathered again into a tensor of its own (not into a buffer that stays).
    pub(crate) regathers: bool,
    /// The product adds the weight's gradient into the gradient buffer: it makes no tensor of its own.
    pub(crate) fused: bool,
}

/// A part of forward that backward runs again.
#[derive(Debug)]
struct Segment {
    events: Vec<Event>,
    nodes: Vec<Node>,
    /// Each output as forward gave it, and as it is made again.
    outputs: Vec<[Var; 2]>,
    /// What the recomputation has been run for already (its output was needed before its gradient was there).
    done: bool,
}

/// An output that forward dropped, and when backward needs it again.
#[derive(Clone, Copy, Debug)]
struct Dropped {
    /// Before the gradient of this tensor is used …
    at: Var,
    /// … this segment is run again.
    segment: usize,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    place: usize,
    inputs: [Option<Var>; INPUTS],
    output: Var,
    saves: [Option<Id>; SAVES],
    back: Back,
}

/// A tensor that several parts read: its gradient is added up from part to part.
#[derive(Clone, Copy, Debug)]
struct Common {
    var: Var,
    /// A later part has made its share already.
    arrives: bool,
    /// It is a leaf: its gradient stays with it.
    leaf: bool,
}

/// How parameter gradients are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gradients {
    /// Born in backward, kept until the step.
    Born,
    /// Added to one that is there already, then freed.
    Added,
    /// Born in backward, kept until an engine takes them to reduce them.
    Taken,
    /// The weight is stepped on as soon as its gradient is there, then the gradient is freed; meanwhile the step makes
    /// so many copies of it, in fp32 (`wide`) or its own type.
    Stepped { copies: u8, wide: bool },
}

impl Gradients {
    /// Gradients do not outlive the operator that makes them.
    fn pass(self) -> bool {
        !matches!(self, Self::Born | Self::Taken)
    }

    /// What the gradient of a weight counts as.
    const fn role(self) -> Role {
        match self {
            Self::Born => Role::Gradient,
            Self::Added => Role::Working,
            Self::Taken | Self::Stepped { .. } => Role::Passing,
        }
    }
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
    /// How many events of backward are gradients that arrive from the parts after this one.
    pub(crate) arriving: usize,
    /// Storages that autocast's cache holds until the forward of the whole model is over.
    pub(crate) cached: Vec<Id>,
    /// Length of `forward` when the last tensor was saved: where recomputation may stop.
    last_save: usize,
    /// The gradient of a tied weight that waits for the embedding's.
    tied: Option<(Param, Id)>,
    awaited: Option<Id>,
    tied_in_place: bool,
    waits_for: Option<Param>,
    /// What is alive until an operator's weights have their gradients: one at its product's size while it is summed down,
    /// tensors of all ranks' tokens.
    until_weights: Vec<Id>,
    segments: Vec<Segment>,
    dropped: Vec<Dropped>,
    /// What is made from here on is made in backward.
    again: bool,
    /// The gradient so far of a weight that many operators read, and whether it is a sum already.
    shared: Option<(Id, bool)>,
    /// Gradients of weights that the running operator made, to be added to those that are there.
    accumulating: Vec<Id>,
    /// Gradients of a split's views that wait for its backward.
    parked: Vec<(Var, Id)>,
    /// Gradients of weights that autocast had cast, until the cast of the product's input is through.
    late: Vec<(Param, Id)>,
    /// Inputs whose gradient, just made, is still like the operator's output.
    unreduced: Vec<Var>,
    /// A variable of the layer's program: what its last attention gave back beside its output.
    attention_weights: Option<Var>,
    /// Its forward is a recomputation.
    recomputed: bool,
    /// Bytes that its forward moves to the host, for backward.
    pub(crate) offloaded: u64,
    /// Tensors that other parts read as well.
    common: Vec<Common>,
    /// Storages that the program holds until the layers of this stack have run.
    pub(crate) held_by_stack: Vec<Id>,
    /// Storages that the graph holds until the program forgets the loss.
    pub(crate) held_by_graph: Vec<Id>,
    /// Storages that stay as long as gradients.
    pub(crate) beside_gradients: Vec<Id>,
    /// Its own tokens are the targets of an encoder–decoder.
    of_target: bool,
    /// Bytes that the matrix library asks for while a product runs; then other scratch of operators counts as well.
    /// `None`: neither does.
    workspace: Option<u64>,
    /// The operator that runs backward multiplies matrices, and has not asked for a workspace yet.
    multiplies: bool,
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
            arriving: 0,
            cached: Vec::new(),
            last_save: 0,
            tied: None,
            awaited: None,
            tied_in_place: false,
            waits_for: None,
            until_weights: Vec::new(),
            segments: Vec::new(),
            dropped: Vec::new(),
            again: false,
            shared: None,
            accumulating: Vec::new(),
            parked: Vec::new(),
            late: Vec::new(),
            unreduced: Vec::new(),
            attention_weights: None,
            recomputed: false,
            offloaded: 0,
            common: Vec::new(),
            held_by_stack: Vec::new(),
            held_by_graph: Vec::new(),
            beside_gradients: Vec::new(),
            of_target: false,
            workspace: None,
            multiplies: false,
            tracked,
            recorded: false,
            in_backward: false,
            module: "",
            group: Group::Other,
        }
    }

    /// Products ask for a workspace of so many bytes, and operators' other scratch is counted.
    pub(crate) fn counting_scratch(self, workspace: Option<u64>) -> Self {
        Self { workspace, ..self }
    }

    /// The same tape for a part of an encoder–decoder's decoder: `numbers` are exchanged, rows show the model's own.
    pub(crate) const fn of_target(mut self, of_target: bool) -> Self {
        self.of_target = of_target;
        self
    }

    /// Whether it is.
    pub(crate) const fn is_of_target(&self) -> bool {
        self.of_target
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
        let shape = if self.of_target { shape.exchanged() } else { shape };
        let later = self.again;
        self.storages.push(Storage { tensor, module, group, shape, dtype, bytes, role, later, holders: 1 });
        let id = self.storages.len() - 1;
        self.log(id, true);
        id
    }

    /// The matrix library's workspace, while the last operator runs.
    pub(crate) fn workspace(&mut self) {
        if let Some(bytes) = self.workspace {
            let whole = Shape::flat(bytes);
            let storage =
                self.alloc(&crate::text::tensors::PRODUCT_WORKSPACE, whole, Dtype::Byte, Role::Working);
            self.release(storage);
        }
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
