//! Every figure of the article.

use super::*;

const GB: u64 = 1_000_000_000;

fn article(params: u64, precision: Precision, optimizer: Optimizer) -> Config {
    Config { params: Some(params), precision, optimizer, ..Config::default() }
}

fn bytes(answer: &Quick) -> [u64; 4] {
    [0, 1, 2, 3].map(|i| answer.lines[i].bytes)
}

#[test]
fn seven_billion_in_fp32_under_adam_is_112_gb() {
    let answer = quick(&article(7 * GB, Precision::Fp32, Optimizer::Adamw), Given::default());
    let lines: Vec<String> = answer.lines.iter().map(|line| line.arithmetic(Units::Gb)).collect();
    assert_eq!(lines[0], "7 × 10⁹ × 4 B = 28 GB");
    assert_eq!(lines[1], "7 × 10⁹ × 4 B = 28 GB");
    assert_eq!(lines[2], "2 × 7 × 10⁹ × 4 B = 56 GB");
    assert_eq!(answer.sum(Units::Gb), "28 + 28 + 56 = 112 GB");
    assert_eq!(answer.total, 112 * GB);
    assert_eq!(answer.lines[3].note, Note::Plain(text::ACTIVATIONS_UNKNOWN));
}

#[test]
fn the_parameters_are_only_a_quarter() {
    let answer = quick(&article(7 * GB, Precision::Fp32, Optimizer::Adamw), Given::default());
    let said = answer.reminder(Lang::En).expect("there is more than parameters");
    assert!(said.starts_with("The parameters are only 25 % of it"), "{said}");
    let mut frozen = article(7 * GB, Precision::Bf16, Optimizer::Adamw);
    frozen.method = Method::Lora;
    assert_eq!(quick(&frozen, Given::default()).reminder(Lang::En), None);
}

#[test]
fn thirteen_billion_in_fp16_under_adam_with_8_gb_of_activations_is_112_gb() {
    let given = Given { activations: Some(8 * GB), ..Given::default() };
    let answer = quick(&article(13 * GB, Precision::Fp16, Optimizer::Adamw), given);
    assert_eq!(bytes(&answer), [26 * GB, 26 * GB, 52 * GB, 8 * GB]);
    assert_eq!(answer.sum(Units::Gb), "26 + 26 + 52 + 8 = 112 GB");
}

#[test]
fn loading_in_fp16_means_one_of_three_things() {
    let [pure, autocast, master] = sixteen_bit(7 * GB);
    assert_eq!(pure.weights.arithmetic(Units::Gb), "7 × 10⁹ × 2 B = 14 GB");
    assert_eq!(autocast.weights.arithmetic(Units::Gb), "7 × 10⁹ × 4 B = 28 GB");
    assert_eq!(master.weights.arithmetic(Units::Gb), "7 × 10⁹ × (2 + 4) B = 42 GB");
    let said = master.weights.note.message(Lang::En, Units::Gb);
    assert!(said.starts_with("16-bit weights 14 GB + FP32 master copy 28 GB"), "{said}");
}

#[test]
fn mixed_precision_shrinks_neither_gradients_nor_states() {
    let mixed = quick(&article(7 * GB, Precision::Fp16Mixed, Optimizer::Adamw), Given::default());
    assert_eq!(bytes(&mixed), [42 * GB, 28 * GB, 56 * GB, 0]);
    let autocast = quick(&article(7 * GB, Precision::Bf16Autocast, Optimizer::Adamw), Given::default());
    assert_eq!(bytes(&autocast), [28 * GB, 28 * GB, 56 * GB, 0]);
    let chosen =
        Config { grad_dtype: GradDtype::Fp16, ..article(7 * GB, Precision::Fp16Mixed, Optimizer::Adamw) };
    assert_eq!(quick(&chosen, Given::default()).lines[1].bytes, 14 * GB);
}

#[test]
fn sgd_keeps_one_value_with_momentum_and_none_without() {
    let momentum = quick(&article(7 * GB, Precision::Fp32, Optimizer::SgdMomentum), Given::default());
    assert_eq!(momentum.lines[2].arithmetic(Units::Gb), "7 × 10⁹ × 4 B = 28 GB");
    let plain = quick(&article(7 * GB, Precision::Fp32, Optimizer::Sgd), Given::default());
    assert_eq!(plain.lines[2].arithmetic(Units::Gb), "0 × 7 × 10⁹ × 4 B = 0 B");
    assert_eq!(plain.sum(Units::Gb), "28 + 28 = 56 GB");
}

/// The article's activations: hidden 4096, sequence 2048, batch 4, 32 layers, 2 bytes.
fn activations_of(seq: u64, batch: u64) -> Config {
    let shape = serde_json::json!({"hidden_size": 4096, "num_hidden_layers": 32});
    let Value::Object(architecture) = shape else { unreachable!("written as an object") };
    Config { architecture, batch, seq, ..article(7 * GB, Precision::Fp16, Optimizer::Adamw) }
}

#[test]
fn activations_are_exactly_two_gib() {
    let line = &quick(&activations_of(2048, 4), Given::default()).lines[3];
    assert_eq!(line.bytes, 2_147_483_648);
    assert_eq!(line.arithmetic(Units::Gb), "4096 × 2048 × 4 × 32 × 2 B ≈ 2.147 GB (= 2 GiB)");
    assert_eq!(line.arithmetic(Units::Gib), "4096 × 2048 × 4 × 32 × 2 B = 2 GiB");
}

#[test]
fn activations_are_linear_in_batch_and_sequence() {
    let at = |seq, batch| quick(&activations_of(seq, batch), Given::default()).lines[3].bytes;
    assert_eq!(at(2048, 4), 4 * at(512, 4));
    assert_eq!(at(2048, 4), 4 * at(2048, 1));
}

#[test]
fn the_default_model_has_all_four_lines() {
    let answer = quick(&Config::default(), Given { params: Some(8_030_261_248), activations: None });
    assert_eq!(answer.lines[0].arithmetic(Units::Gb), "8,030,261,248 × (2 + 4) B ≈ 48.18 GB");
    assert_eq!(answer.lines[3].arithmetic(Units::Gb), "4096 × 2048 × 1 × 32 × 2 B ≈ 536.9 MB (= 512 MiB)");
    assert!(bytes(&answer).iter().all(|bytes| *bytes > 0));
    let nothing = quick(&Config::default(), Given::default());
    assert_eq!(nothing.lines[0].note, Note::Plain(text::PARAMETERS_UNKNOWN));
}

#[test]
fn beyond_the_article_each_optimizer_has_its_own_bytes() {
    let states = |optimizer| quick(&article(7 * GB, Precision::Fp32, optimizer), Given::default());
    let line = |optimizer| states(optimizer).lines[2].clone();
    assert_eq!(
        line(Optimizer::Adamw8bit).arithmetic(Units::Gb),
        "7 × 10⁹ × (2 × 1 + 2 × 4 / 256) B ≈ 14.22 GB"
    );
    assert_eq!(line(Optimizer::Adamw8bit).bytes, 7 * GB * 2 + 7 * GB * 8 / 256);
    assert_eq!(line(Optimizer::Lion).bytes, 28 * GB);
    assert_eq!(line(Optimizer::Adafactor).bytes, 0);
    assert_eq!(states(Optimizer::Lomo).lines[1].bytes, 0);
    for optimizer in Optimizer::ALL {
        let Note::Plain(note) = line(*optimizer).note else { panic!("{optimizer:?}") };
        let article = matches!(optimizer, Optimizer::Adamw | Optimizer::Sgd | Optimizer::SgdMomentum);
        assert_ne!(article, note.en.starts_with("Beyond the article"), "{optimizer:?}");
    }
}

#[test]
fn a_frozen_base_has_weights_only() {
    let mut config = article(7 * GB, Precision::Bf16Mixed, Optimizer::Adamw);
    config.method = Method::Lora;
    assert_eq!(bytes(&quick(&config, Given::default())), [14 * GB, 0, 0, 0]);
    config.method = Method::Qlora;
    config.quantization = Quantization::Int8;
    assert_eq!(bytes(&quick(&config, Given::default())), [7 * GB, 0, 0, 0]);
    config.quantization = Quantization::Nf4;
    assert_eq!(bytes(&quick(&config, Given::default())), [7 * GB / 2, 0, 0, 0]);
}

#[test]
fn nothing_overflows() {
    let mut config = article(u64::MAX, Precision::Fp32, Optimizer::Adamw);
    (config.seq, config.batch) = (u64::MAX, u64::MAX);
    config.model = Some("llama-2-7b".to_owned());
    let answer = quick(&config, Given::default());
    assert_eq!(answer.total, u64::MAX);
    for line in &answer.lines {
        assert_eq!(line.note, Note::Plain(text::TOO_LARGE));
        assert!(line.arithmetic(Units::Gb).ends_with("> 18.45 EB"));
    }
    assert!(!answer.sum(Units::Gib).is_empty());
}
