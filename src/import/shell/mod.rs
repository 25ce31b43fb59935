//! A shell script as the commands that it would run: words, quotes, line continuations, comments, variables, arrays.
//!
//! Only what launch scripts are made of: assignments (`A=1`, `A="$B --c"`, `A=(--b "$C")`, `export A=1`), `$A`,
//! `${A}`, `${A:-1}`, `${A[@]}` and `$((A * B))`. Whatever else a shell does (loops, conditions, `$(…)`) is passed over:
//! commands are read in order, and a variable that nothing sets stays as it is written.

mod arithmetic;
mod expand;
mod words;

use expand::Variables;
use words::{Lexer, Token};

/// More words than any command has.
const MOST_WORDS: usize = 20_000;

/// One command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    /// Its words, variables replaced.
    pub(super) words: Vec<String>,
    /// Variables set for it alone, in front (`CUDA_VISIBLE_DEVICES=0,1 python …`).
    pub(super) variables: Vec<(String, String)>,
}

/// The commands of a script, and the variables that it leaves behind (a list's items with spaces).
pub(super) fn read(script: &str) -> (Vec<Command>, Vec<(String, String)>) {
    let mut variables = Variables::default();
    let mut commands = Vec::new();
    let mut command = Command::default();
    let mut left = MOST_WORDS;
    for token in Lexer::new(script) {
        if left == 0 {
            break;
        }
        match token {
            Token::End => finish(&mut command, &mut commands, &mut variables),
            Token::List { name, items, more } => {
                let items: Vec<_> = items.iter().flat_map(|item| variables.expand(item)).take(left).collect();
                left = left.saturating_sub(items.len());
                variables.set_list(name, items, more);
            }
            Token::Word(word) => {
                let leading = command.words.iter().all(|word| word == "export" || word == "declare");
                if let Some((name, value)) = word.assignment().filter(|_| leading) {
                    let value = variables.expand(&value).join(" ");
                    command.variables.push((name, value));
                    left -= 1;
                } else {
                    let words = variables.expand(&word);
                    left = left.saturating_sub(words.len().max(1));
                    command.words.extend(words);
                }
            }
        }
    }
    finish(&mut command, &mut commands, &mut variables);
    (commands, variables.into_pairs())
}

/// Assignments with no command behind them hold for the rest of the script.
fn finish(command: &mut Command, commands: &mut Vec<Command>, variables: &mut Variables) {
    let done = std::mem::take(command);
    if done.words.iter().all(|word| word == "export" || word == "declare") {
        for (name, value) in done.variables {
            variables.set(name, value);
        }
    } else {
        commands.push(done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(script: &str) -> Vec<String> {
        read(script).0.into_iter().map(|command| command.words.join("|")).collect()
    }

    #[test]
    fn words_quotes_comments_and_continuations() {
        assert_eq!(
            commands("a 'b c' \"d e\"f # g\nh \\\n  --i=j; k && l"),
            ["a|b c|d ef", "h|--i=j", "k", "l"]
        );
        assert_eq!(commands("a#b 'it''s' \"q\\\"r\" s\\ t"), ["a#b|its|q\"r|s t"]);
    }

    #[test]
    fn variables_lists_and_defaults() {
        let script = "TP=8\nexport PP=2\nARGS=\"\n  --tp $TP\n  --pp ${PP}\n\"\nL=(\n  --a 1 # one\n  --b \"x y\"\n)\n\
                      L+=(--c)\nrun $ARGS \"${L[@]}\" ${N:-4} \"$UNSET\" $((TP * PP + 1)) '$TP'";
        assert_eq!(commands(script), ["run|--tp|8|--pp|2|--a|1|--b|x y|--c|4|$UNSET|17|$TP"]);
    }

    #[test]
    fn variables_in_front_belong_to_the_command() {
        let (commands, _) = read("CUDA_VISIBLE_DEVICES=0,1 OMP=2 python train.py --x");
        assert_eq!(commands[0].words, ["python", "train.py", "--x"]);
        assert_eq!(commands[0].variables[0], ("CUDA_VISIBLE_DEVICES".to_owned(), "0,1".to_owned()));
    }

    #[test]
    fn growth_is_bounded() {
        let mut script = "A='x x'\n".to_owned();
        for _ in 0..60 {
            script += "A=\"$A $A\"\n";
        }
        script += "run $A";
        assert!(commands(&script)[0].len() < 1 << 20);
        let nested = format!("run {}", "${A:-".repeat(10_000));
        assert_eq!(commands(&nested).len(), 1);
        assert_eq!(commands(&format!("run $(({}", "(".repeat(10_000))).len(), 1);
    }
}
