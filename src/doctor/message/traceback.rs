//! Where in the run it failed: Python's tracebacks, in the forms that consoles, notebooks and launchers print.

use super::scan::{number, rank_of};

/// The part of a run that asked for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum When {
    /// Weights are read or moved to the card.
    Loading,
    /// The model is wrapped, or the optimizer is set up.
    Setup,
    /// Forward.
    Forward,
    /// The loss: logits and what is made of them.
    Loss,
    /// Backward, recomputation included.
    Backward,
    /// The optimizer step.
    Step,
    /// Evaluation, prediction or generation.
    Evaluation,
    /// A checkpoint is written.
    Saving,
}

impl When {
    /// The report's word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Loading => "loading",
            Self::Setup => "setup",
            Self::Forward => "forward",
            Self::Loss => "loss",
            Self::Backward => "backward",
            Self::Step => "optimizer",
            Self::Evaluation => "evaluation",
            Self::Saving => "saving",
        }
    }
}

/// A line of a program.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Place {
    /// The file's name, without the folders it lies in.
    pub file: String,
    /// The line.
    pub line: u64,
    /// The function.
    pub function: String,
    /// What stands there (empty where the traceback doesn't say).
    pub code: String,
}

/// One frame, borrowed from the text.
#[derive(Clone, Copy, Debug)]
struct Frame<'t> {
    path: &'t str,
    line: u64,
    function: &'t str,
    code: &'t str,
}

/// Something at a position of the text.
#[derive(Clone, Copy, Debug)]
enum Mark<'t> {
    /// “Traceback (most recent call last)”.
    Start,
    Frame(Frame<'t>),
}

/// All tracebacks of a text.
pub(super) struct Traces<'t> {
    marks: Vec<(usize, Option<u64>, Mark<'t>)>,
}

/// Frames of other ranks that may stand between a message and its own.
const FAR: usize = 4000;
/// Frames of one traceback that are looked at.
const DEEP: usize = 200;

impl<'t> Traces<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let mut marks = Vec::new();
        let mut at = 0;
        // Where the last frame's code may stand: on the next line of the same rank.
        let mut waiting: Option<usize> = None;
        for full in text.split_inclusive('\n') {
            let (rank, line) = rank_of(full).map_or((None, full), |(rank, line)| (Some(rank), line));
            let line = line.trim().trim_matches(['│', '>', '|']).trim();
            if line.contains("Traceback (most recent call last)") {
                marks.push((at, rank, Mark::Start));
                waiting = None;
            } else if let Some(frame) = frame(line) {
                marks.push((at, rank, Mark::Frame(frame)));
                waiting = Some(marks.len() - 1);
            } else if let Some(last) = waiting
                && let (_, of, Mark::Frame(frame)) = &mut marks[last]
                && *of == rank
            {
                waiting = code_line(frame, line).then_some(last);
            }
            at += full.len();
        }
        Self { marks }
    }

    /// The frames that lead to the message at this position, the outermost first.
    fn leading_to(&self, position: usize, rank: Option<u64>) -> Vec<Frame<'t>> {
        let end = self.marks.partition_point(|(at, _, _)| *at <= position);
        let mut frames = Vec::new();
        for (_, of, mark) in self.marks[..end].iter().rev().take(FAR) {
            if *of != rank {
                continue;
            }
            match mark {
                Mark::Frame(frame) if frames.len() < DEEP => frames.push(*frame),
                _ => break,
            }
        }
        if frames.is_empty() {
            // Some debuggers print the innermost first, below the message.
            return self.below(end, position);
        }
        frames.reverse();
        frames
    }

    fn below(&self, end: usize, position: usize) -> Vec<Frame<'t>> {
        let near = |at: usize| at.saturating_sub(position) < 4000;
        let frames = self.marks[end..].iter().take(DEEP).take_while(|(at, _, _)| near(*at));
        let mut frames: Vec<Frame> = frames
            .map_while(|(_, _, mark)| match mark {
                Mark::Frame(frame) => Some(*frame),
                Mark::Start => None,
            })
            .collect();
        frames.reverse();
        frames
    }

    /// When, and where, the message at this position was raised.
    pub(super) fn explain(&self, position: usize, rank: Option<u64>) -> (Option<When>, Option<Place>) {
        let frames = self.leading_to(position, rank);
        (when(&frames), place(&frames))
    }
}

/// Reads a frame: `File "path", line 12, in f`, `File path:12, in f(…)`, `path.py:12 in f`, `path.py in f(…)`.
fn frame(line: &str) -> Option<Frame<'_>> {
    if line.len() > 1000 {
        return None;
    }
    let of = |path, line, rest| Some(Frame { path, line, function: function(rest), code: "" });
    if let Some(rest) = line.strip_prefix("File \"") {
        let (path, rest) = rest.split_once('"')?;
        let rest = rest.trim_start_matches([',', ' ']).strip_prefix("line ")?;
        return of(path, number(rest)?, rest);
    }
    if let Some(rest) = line.strip_prefix("File ") {
        let (path, rest) = rest.split_once(".py:")?;
        return of(path, number(rest)?, rest);
    }
    let (path, rest) = line.split_once(".py")?;
    let absolute = path.starts_with(['/', '.', '~']) || path.get(1..2) == Some(":");
    if path.contains(' ') && !absolute {
        return None;
    }
    match rest.strip_prefix(':') {
        Some(rest) if rest.contains(" in ") => of(path, number(rest)?, rest),
        // Old notebooks give the line below, marked by an arrow.
        None if rest.starts_with(" in ") => of(path, 0, rest),
        _ => None,
    }
}

/// The name behind `in`.
fn function(rest: &str) -> &str {
    let Some((_, name)) = rest.split_once("in ") else { return "" };
    let name = name.trim_start();
    let end = name.find(|c: char| !(c.is_alphanumeric() || "_.<>".contains(c))).unwrap_or(name.len());
    &name[..end]
}

/// Takes the code of a frame from the line below it; whether to look at the next line, too.
fn code_line<'t>(frame: &mut Frame<'t>, line: &'t str) -> bool {
    // `❱ 2726 │   │   loss.backward()`, `---> 12     loss.backward()`, `-> 1474         optimizer = …`
    for arrow in ["❱", "---->", "--->", "-->", "->"] {
        if let Some(rest) = line.strip_prefix(arrow) {
            let rest = rest.trim_start();
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            if frame.line == 0 {
                frame.line = rest[..digits].parse().unwrap_or(0);
            }
            frame.code = rest[digits..].trim_start_matches(['│', ' ', '\t']);
            return false;
        }
    }
    if line.is_empty() {
        return true;
    }
    let listing = line.starts_with(|c: char| c.is_ascii_digit());
    if !listing && frame.code.is_empty() && frame.line > 0 {
        frame.code = line;
        return false;
    }
    listing
}

/// A sign of a part of the run: each list that is not empty must have its match.
struct Sign {
    when: When,
    /// The function's own name.
    functions: &'static [&'static str],
    /// A part of the path.
    paths: &'static [&'static str],
    /// A part of the line.
    code: &'static [&'static str],
}

const fn function_is(when: When, functions: &'static [&'static str]) -> Sign {
    Sign { when, functions, paths: &[], code: &[] }
}

const fn code_has(when: When, code: &'static [&'static str]) -> Sign {
    Sign { when, functions: &[], paths: &[], code }
}

const fn path_has(when: When, paths: &'static [&'static str]) -> Sign {
    Sign { when, functions: &[], paths, code: &[] }
}

const fn both(when: When, paths: &'static [&'static str], functions: &'static [&'static str]) -> Sign {
    Sign { when, functions, paths, code: &[] }
}

/// The first that fits counts: what a line calls goes before the function that it stands in. Names are those of
/// torch, transformers, accelerate, peft, DeepSpeed, Megatron, Lightning and torchtune.
#[rustfmt::skip]
const SIGNS: &[Sign] = &[
    code_has(When::Loading, &["from_pretrained(", "model.to(", "model.cuda(", ".load_state_dict("]),
    code_has(When::Backward, &[".backward(", "run_backward(", "backward_step("]),
    code_has(When::Step, &["optimizer.step(", "optim.step(", "opt.step("]),
    code_has(When::Setup, &["deepspeed.initialize(", "accelerator.prepare(", "DistributedDataParallel(", "FullyShardedDataParallel("]),
    code_has(When::Loss, &["loss_fct(", "loss_function(", "logits.float(", "lm_head(", "cross_entropy("]),
    function_is(When::Saving, &["save_checkpoint", "_save_checkpoint", "save_pretrained", "_save_optimizer_and_scheduler"]),
    function_is(When::Evaluation, &["evaluate", "evaluation_loop", "predict", "prediction_loop", "prediction_step",
        "generate", "evaluate_and_print_results", "validate", "validation_step"]),
    function_is(When::Loading, &["from_pretrained", "load_state_dict", "load_checkpoint", "_load_pretrained_model",
        "load_model", "set_module_tensor_to_device", "_load_state_dict_into_meta_model", "load_checkpoint_in_model"]),
    both(When::Loading, &["torch/nn/modules/module"], &["_apply", "convert", "cuda", "to"]),
    // Trainers that hand forward to the optimizer's step as a closure run it from there.
    function_is(When::Forward, &["training_step", "compute_loss", "closure"]),
    function_is(When::Backward, &["backward", "run_backward", "_engine_run_backward"]),
    path_has(When::Backward, &["torch/autograd/__init__"]),
    path_has(When::Step, &["torch/optim/", "bitsandbytes/optim"]),
    both(When::Step, &["optim", "deepspeed", "accelerate"], &["step", "_take_model_step"]),
    function_is(When::Step, &["optimizer_step", "_optimizer_step", "_init_group", "adamw", "_multi_tensor_adamw"]),
    function_is(When::Setup, &["_configure_optimizer", "_configure_zero_optimizer", "initialize_optimizer_states",
        "_setup_for_real_optimizer", "_prepare_deepspeed", "prepare_model", "setup_model_and_optimizer"]),
    both(When::Setup, &["deepspeed/runtime", "torch/distributed/fsdp", "torch/nn/parallel/distributed"],
        &["__init__", "_auto_wrap", "_init_param_handle_from_module", "fully_shard"]),
    function_is(When::Loss, &["cross_entropy", "ForCausalLMLoss", "fixed_cross_entropy", "log_softmax", "nll_loss"]),
    path_has(When::Loss, &["vocab_parallel_cross_entropy", "torch/nn/modules/loss"]),
    function_is(When::Forward, &["forward", "_call_impl", "_wrapped_call_impl", "forward_step"]),
    code_has(When::Forward, &["model(**", "= model(", "self.model("]),
];

/// What a frame says about the part of the run.
fn says(frame: &Frame) -> Option<When> {
    let path = frame.path.replace('\\', "/");
    let function = frame.function.rsplit('.').next().unwrap_or_default();
    let fits = |sign: &&Sign| {
        (sign.functions.is_empty() || sign.functions.contains(&function))
            && (sign.paths.is_empty() || sign.paths.iter().any(|part| path.contains(part)))
            && (sign.code.is_empty() || sign.code.iter().any(|part| frame.code.contains(part)))
    };
    SIGNS.iter().find(fits).map(|sign| sign.when)
}

/// The part of the run that the frames are in, from the outermost to the innermost.
fn when(frames: &[Frame]) -> Option<When> {
    let mut now: Option<When> = None;
    for next in frames.iter().filter_map(says) {
        let Some(outer) = now else {
            now = Some(next);
            continue;
        };
        let stays = match outer {
            // What these run below themselves is theirs.
            When::Loading | When::Evaluation | When::Saving => true,
            When::Setup => matches!(next, When::Forward | When::Step | When::Loss),
            // Backward runs forward again (recomputation), and may step (optimizers in backward).
            When::Backward => next != When::Step,
            // Moving one input to the card is no loading of the model.
            When::Loss => matches!(next, When::Forward | When::Loading),
            When::Forward | When::Step => next == When::Loading,
        };
        if !stays {
            now = Some(next);
        }
    }
    now
}

/// The innermost line of the program or the model: not of the framework's own machinery.
fn place(frames: &[Frame]) -> Option<Place> {
    let machinery = |frame: &&Frame| {
        let path = frame.path.replace('\\', "/");
        [
            "/torch/",
            "/accelerate/hooks",
            "/accelerate/utils/operations",
            "/jax/_src/",
            "/jaxlib/",
            "/contextlib",
        ]
        .iter()
        .any(|part| path.contains(part))
    };
    let own = frames.iter().rev().find(|frame| !machinery(frame)).or_else(|| frames.last())?;
    let name = own.path.rsplit(['/', '\\']).next().unwrap_or(own.path);
    // Some forms leave the ending out, and some files have none (`<stdin>`).
    let file = if name.contains(['.', '<']) { name.to_owned() } else { format!("{name}.py") };
    let code = super::scan::head(own.code, 200).to_owned();
    Some(Place { file, line: own.line, function: own.function.to_owned(), code })
}

/// Names of modules in a line of a model: `self.down_proj(self.act_fn(…))` has `down_proj` and `act_fn`.
pub(super) fn modules(code: &str) -> impl Iterator<Item = &str> {
    code.split("self.").skip(1).map(|rest| {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        &rest[..end]
    })
}
