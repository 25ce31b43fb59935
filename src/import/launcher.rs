//! How many processes a launcher starts: torchrun, accelerate, deepspeed, srun, `#SBATCH` lines.

use super::draft::Draft;
use super::given::{Given, Said};
use super::shell::Command;
use super::{Why, accelerate};
use crate::text::import as words;
use serde_json::Value;

/// Options of launchers that change no memory.
pub(super) const HARMLESS: &[&str] = &[
    "node_rank",
    "machine_rank",
    "master_addr",
    "master_port",
    "main_process_ip",
    "main_process_port",
    "rdzv_*",
    "standalone",
    "max_restarts",
    "monitor_interval",
    "start_method",
    "role",
    "log_dir",
    "redirects",
    "tee",
    "m",
    "local_addr",
    "no_python",
    "num_cpu_threads_per_process",
    "hostfile",
    "launcher",
    "same_network",
    "rdma",
    "ssh_port",
    "force_multi",
    "module",
    "debug",
    "dynamo_backend",
    "multi_gpu",
    "kill_on_bad_exit",
    "label",
    "cpu_bind",
    "local_ranks_filter",
    "run_path",
    "container_*",
    "u",
    "ntasks_per_node",
    "mpi",
    "bind_cores_to_rank",
    "deepspeed_hostfile",
    "deepspeed_multinode_launcher",
    "main_training_function",
    "job_name",
    "J",
    "o",
    "e",
    "output",
    "error",
    "time",
    "t",
    "p",
    "partition",
    "account",
    "A",
    "qos",
    "exclusive",
    "mem",
    "cpus_per_task",
    "c",
];

/// Launchers by their first words.
const LAUNCHERS: &[&str] = &[
    "torchrun",
    "accelerate",
    "deepspeed",
    "python",
    "python3",
    "srun",
    "llamafactory-cli",
    "axolotl",
    "trl",
    "mpirun",
    "uv",
];

/// Whether a command starts with a launcher.
pub(super) fn launches(command: &Command) -> bool {
    let first = command.words.first().map(|word| word.rsplit('/').next().unwrap_or_default());
    first.is_some_and(|first| LAUNCHERS.contains(&first))
}

/// Reads what a launcher's options say about processes.
pub(super) fn read(given: &mut Given, draft: &mut Draft) {
    let mut number = |names: &[&str], draft: &mut Draft| {
        let said = given.take_first(names)?;
        let number = said.number().filter(|&number| number > 0);
        if number.is_none() {
            draft.ignore(&said, Why::Unsupported(words::OTHER_VALUE));
        }
        number.map(|number| (said, number))
    };
    let per_node = number(
        &["nproc_per_node", "num_gpus", "gpus_per_node", "ntasks_per_node", "gres", "gpus_per_task"],
        draft,
    );
    let nodes = number(&["nnodes", "num_nodes", "num_machines", "nodes", "N"], draft);
    let all = number(&["num_processes", "ntasks", "n", "np"], draft);
    draft.facts.per_node = per_node.or(draft.facts.per_node.take());
    draft.facts.nodes = nodes.or(draft.facts.nodes.take());
    draft.facts.gpus = all.or(draft.facts.gpus.take());
    if let Some(said) = given.take("include").or_else(|| given.take("i")) {
        // `host1:0,1@host2:0,1`: as many cards as are listed.
        let text = said.text();
        let cards: usize = text
            .split('@')
            .map(|host| host.split_once(':').map_or(1, |(_, cards)| cards.split(',').count()))
            .sum();
        draft.facts.gpus = Some((said, cards as u64));
    }
    if let Some(said) = given.take("mixed_precision") {
        accelerate::mixed_precision(&said, draft);
    }
    if given.has("use_fsdp") || given.has("use_deepspeed") {
        accelerate::switches(given, draft);
    }
    if let Some(said) = given.take_first(&["config_file", "deepspeed_config_file"]) {
        draft.ignore(&said, Why::Elsewhere);
    }
}

/// Cards that are made visible, for launchers that are not told how many processes to start.
pub(super) fn visible(variables: &[(String, String)], draft: &mut Draft) {
    for (name, value) in variables {
        let listed = value.split(',').filter(|card| !card.trim().is_empty()).count();
        if name == "CUDA_VISIBLE_DEVICES" && listed > 0 && !value.contains('$') {
            let said = Said { name: name.clone(), value: Value::from(value.as_str()) };
            draft.facts.visible = Some((said, listed as u64));
        }
    }
}

/// The options of `#SBATCH` lines, in front of the command's own.
pub(super) fn batch_lines(script: &str) -> Vec<String> {
    let lines = script.lines().filter_map(|line| line.trim().strip_prefix("#SBATCH "));
    let words = lines.flat_map(|line| line.split('#').next().unwrap_or_default().split_whitespace());
    // `--gres=gpu:8`, `--gpus-per-node=h100:8`: the last part is the number.
    words
        .map(|word| match (word.split_once('='), word.rsplit_once(':')) {
            (Some((name @ ("--gres" | "--gpus-per-node"), _)), Some((_, number))) => {
                format!("{name}={number}")
            }
            _ => word.to_owned(),
        })
        .collect()
}
