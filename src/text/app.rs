//! Sentences of the page.

use super::Text;

/// Title of the document.
pub const TITLE: Text = Text::new("trainmem: GPU memory of a training run", "trainmem：训练显存估算");
/// What it is, beside the name.
pub const TAGLINE: Text = Text::new("Who eats the memory of this training run?", "这次训练，显存被谁占了？");
/// At the foot of the page.
pub const FOOT: Text = Text::new(
    "Everything is computed in this page; nothing is sent anywhere. The link holds the whole configuration.",
    "全部计算在本页完成，不上传任何数据；链接中包含完整配置。",
);
/// Jumps over the form.
pub const SKIP: Text = Text::new("Skip to the answer", "跳到结果");
/// Name of the form.
pub const FORM: Text = Text::new("Configuration", "配置");
/// Name of the answer.
pub const ANSWER: Text = Text::new("Answer", "结果");

// Views.

/// Name of the row of tabs.
pub const VIEWS: Text = Text::new("Views", "视图");
/// The article's four lines.
pub const QUICK: Text = Text::new("Quick", "速算");
/// The real architecture.
pub const DETAILED: Text = Text::new("Detailed", "精算");
/// From what the reader has.
pub const DIAGNOSE: Text = Text::new("Diagnose", "诊断");

// Switches and buttons.

/// Changes the language.
pub const OTHER_LANGUAGE: Text = Text::new("中文", "English");
/// The system's colours.
pub const AUTO: Text = Text::new("Auto", "自动");
/// Dark on white.
pub const LIGHT: Text = Text::new("Light", "浅色");
/// Light on dark.
pub const DARK: Text = Text::new("Dark", "深色");
/// Name of the theme switch.
pub const THEME_IS: Text = Text::new("Colours: {theme}. Change", "配色：{theme}，点击切换");
/// Name of the unit switch.
pub const UNITS_ARE: Text = Text::new("Sizes in {unit}. Change", "大小单位：{unit}，点击切换");
/// Copies the share link.
pub const COPY_LINK: Text = Text::new("Copy link", "复制链接");
/// Copies the code of a frame.
pub const COPY_EMBED: Text = Text::new("Copy embed code", "复制嵌入代码");
/// The link is on the clipboard.
pub const LINK_COPIED: Text = Text::new("Link copied", "链接已复制");
/// The code is on the clipboard.
pub const EMBED_COPIED: Text = Text::new("Embed code copied", "嵌入代码已复制");
/// The clipboard is out of reach.
pub const COPY_BY_HAND: Text = Text::new("Copy it from here", "请在此手动复制");
/// Work beside the page broke down.
pub const FAILED: Text = Text::new("That failed; please try again", "没有成功，请重试");
/// The reader did something that the part of the program that is here can't answer.
pub const LOADING: Text =
    Text::new("Loading the estimator; your change is kept", "正在载入估算器，您的改动已保留");
/// That part of the program didn't arrive.
pub const NOT_LOADED: Text = Text::new(
    "The estimator did not arrive; your change is kept and tried again at the next one",
    "估算器没有载入成功；改动已保留，下次改动时会重试",
);
/// Closes a message.
pub const CLOSE: Text = Text::new("Close", "关闭");
/// Title of an embedded frame.
pub const EMBED_TITLE: Text =
    Text::new("GPU memory of a training run, by trainmem", "训练显存估算（trainmem）");
/// From the frame to the page.
pub const FULL_PAGE: Text = Text::new("Open in trainmem", "在 trainmem 中打开");

// Headline and problems.

/// No configuration had an answer yet.
pub const NO_ANSWER: Text = Text::new("No answer yet: see what is wrong below", "暂无结果：请看下方的问题");
/// What stands here is older than what was typed.
pub const STALE: Text = Text::new(
    "What was typed last cannot be used; this is the last good answer.",
    "最近的输入无法使用，这里仍是上一次的有效结果。",
);
/// The rule of thumb's headline.
pub const QUICK_HEADLINE: Text = Text::new("{size} by the rule of thumb", "按经验公式约 {size}");
/// From the rule of thumb to the tensors.
pub const QUICK_MORE: Text = Text::new(
    "Four lines and no architecture. The detailed view counts tensor by tensor, finds the worst moment of a step and compares it with a GPU.",
    "只有四行，不看模型结构。精算会逐个张量统计，找出一步中的峰值时刻，并与显卡容量对比。",
);
/// Heading of the problems.
pub const PROBLEMS: Text = Text::new("Ignored, replaced or not counted", "被忽略、被替换或未计入的设置");

// The form.

/// Link to where a key is defined.
pub const SOURCE: Text = Text::new("Source", "出处");
/// The same for a screen reader.
pub const SOURCE_OF: Text = Text::new("Source: {what}", "出处：{what}");
/// A framework's default.
pub const UNSET: Text = Text::new("Not set", "未指定");
/// A switch.
pub const ON: Text = Text::new("Yes", "是");
/// A switch.
pub const OFF: Text = Text::new("No", "否");
/// Heading of choices without effect.
pub const NOT_COUNTED: Text = Text::new("Not counted yet", "暂未计入");
/// A model that is no preset.
pub const OWN_MODEL: Text = Text::new("My own (fields below)", "自定义（见下方各项）");
/// Unfolds the fields of a model.
pub const SHAPE: Text = Text::new("Change its shape", "修改模型结构");
/// What the fields of a model do.
pub const SHAPE_HELP: Text = Text::new(
    "Named as in config.json. An empty field is the chosen model's.",
    "名称与 config.json 一致；留空则沿用所选模型的值。",
);
/// Takes the own fields away.
pub const BACK_TO_PRESET: Text = Text::new("Clear my fields", "清除自定义项");
/// Heading of keys without effect.
pub const NOT_COUNTED_YET: Text = Text::new("Read, but not counted yet", "可读取但暂未计入");
/// What such keys do.
pub const NOT_COUNTED_HELP: Text = Text::new(
    "These settings are read, checked and kept in links and exports, but do not change the figures yet. A value other than the default is listed as such.",
    "这些设置会被读取、检查，并保留在链接与导出中，但暂不影响数值；取非默认值时会在问题列表中注明。",
);
/// Unfolds the place for a model's file.
pub const OWN_CONFIG: Text = Text::new("Use a config.json", "使用 config.json");
/// Label of that place.
pub const CONFIG_LABEL: Text = Text::new(
    "Paste a model's config.json, or drop the file here",
    "粘贴模型的 config.json，或将文件拖到这里",
);
/// Button of that place.
pub const USE_IT: Text = Text::new("Use it", "使用");

/// Field: which model to fetch.
pub const HUB_MODEL: Text = Text::new("Fetch it by the model's name", "按模型名获取");
/// What such a name looks like.
pub const HUB_EXAMPLE: Text = Text::same("Qwen/Qwen3-8B");
/// Field: where from.
pub const HUB_ENDPOINT: Text = Text::new("From this hub, or a mirror of it", "来源站点或其镜像");
/// Button.
pub const HUB_FETCH: Text = Text::new("Fetch", "获取");
/// A request is under way.
pub const HUB_WAITING: Text = Text::new("Fetching config.json…", "正在获取 config.json……");
/// It was read.
pub const HUB_DONE: Text = Text::new("{what} is in use", "已采用 {what}");
/// No address can be made.
pub const HUB_NO_ADDRESS: Text = Text::new(
    "“{what}” with this hub makes no address; expected: owner/name, and a hub such as https://huggingface.co",
    "“{what}”与该站点无法组成地址；应为 所有者/名称，站点如 https://huggingface.co",
);
/// No answer.
pub const HUB_UNREACHABLE: Text = Text::new(
    "{what} can't be reached: no network, or the hub is blocked here. Try a mirror, or paste the file",
    "无法访问 {what}：没有网络或该站点被屏蔽。可换用镜像，或直接粘贴文件",
);
/// The hub knows no such file.
pub const HUB_NOT_THERE: Text =
    Text::new("{what} is not there: check owner and name", "{what} 不存在：请检查所有者与名称");
/// The hub wants a login.
pub const HUB_GATED: Text = Text::new(
    "{what} is gated: the hub asks for a login. Paste the file, or name an open copy of the model",
    "{what} 需要登录授权。请粘贴文件，或改用公开的副本",
);
/// What came is no model.
pub const HUB_UNREADABLE: Text = Text::new("What came can't be used: {what}", "获取的内容无法使用：{what}");

// Quick.

/// Heading of the lines.
pub const FOUR_LINES: Text = Text::new("Four lines", "四行速算");
/// Before the sum, for a screen reader.
pub const FOUR_LINES_ARE: Text =
    Text::new("Parameters, gradients, optimizer states, activations: ", "参数、梯度、优化器状态、激活值：");
/// To the other view.
pub const TO_DETAILED: Text = Text::new("Count tensor by tensor", "改为逐个张量精算");
/// Last line.
pub const SUM: Text = Text::new("Total", "合计");
/// Placeholder of the activations.
pub const BY_FORMULA: Text = Text::new("by the formula", "按公式计算");
/// Help of the activations.
pub const ACTIVATIONS_HELP: Text = Text::new(
    "Empty: layer output × batch × layers × bytes, of the model in the detailed view. Or type a size: 8 GB.",
    "留空：按“每层输出 × 批大小 × 层数 × 字节数”计算，结构取自精算中的模型；也可直接填大小，如 8 GB。",
);
/// Not readable as a size.
pub const NOT_A_SIZE: Text =
    Text::new("Not a size. Accepted: 8 GB, 2GiB, 512MiB.", "不是有效的大小。可接受：8 GB、2GiB、512MiB。");

// Diagnose.

/// Heading.
pub const BRING: Text = Text::new("Bring what you have", "用现成的内容开始");
/// What can be brought.
pub const BRING_HELP: Text = Text::new(
    "An out-of-memory message or the whole log around it, a launch command, a framework's configuration (DeepSpeed, accelerate, LLaMA-Factory, axolotl, torchtitan, Megatron), a model's config.json, or a share link. A message is held against the configuration of this page: the tensor that failed to fit is named. Nothing leaves the browser.",
    "显存不足报错或整份日志、启动命令、框架配置（DeepSpeed、accelerate、LLaMA-Factory、axolotl、torchtitan、Megatron）、模型的 config.json 或分享链接均可。报错会与本页的配置对照，指出放不下的是哪个张量；内容不会离开浏览器。",
);
/// Label of the place.
pub const BRING_LABEL: Text = Text::new("Paste here, or drop a file", "粘贴到这里，或拖入文件");
/// Placeholder of the place.
pub const PASTE_HERE: Text =
    Text::same("CUDA out of memory. Tried to allocate …\n\n{ \"model_type\": \"llama\", … }");
/// Button.
pub const READ_IT: Text = Text::new("Read it", "读取");
/// File button.
pub const PICK_FILE: Text = Text::new("Choose a file", "选择文件");
/// Heading of what was found.
pub const UNDERSTOOD: Text = Text::new("Understood", "已识别");
/// Heading of the rest.
pub const NOT_UNDERSTOOD: Text = Text::new("Not understood", "未能识别");
/// Heading of what a file says in vain, and of what it leaves open.
pub const NOT_TAKEN_OVER: Text = Text::new("Not taken over, or assumed", "未采用或假定的内容");
/// Heading of what filling in changes.
pub const WOULD_CHANGE: Text = Text::new("Filling it in changes", "填入后将改变");
/// Button.
pub const FILL_IN: Text = Text::new("Fill in the form", "填入表单");
/// Everything is at its default.
pub const NOTHING_FOUND: Text =
    Text::new("Nothing that differs from the defaults.", "没有与默认值不同的设置。");

// Figure and exports.

/// Name of the figure.
pub const FIGURE: Text = Text::new("Figure", "图");
/// Name of the row of tabs.
pub const FIGURES: Text = Text::new("Figures", "图表");
/// The stacked bar.
pub const BAR: Text = Text::new("Peak", "峰值构成");
/// The stages of a pipeline.
pub const STAGES: Text = Text::new("By stage", "各流水段");
/// The timeline.
pub const STEP: Text = Text::new("One step", "一步之内");
/// The sweep over the batch.
pub const OVER_BATCH: Text = Text::new("If batch …", "改变批大小");
/// The sweep over the sequence.
pub const OVER_SEQ: Text = Text::new("If sequence …", "改变序列长度");
/// The sweep over a key of the reader's choice.
pub const OVER_KEY: Text = Text::new("If any other …", "改变其他项");
/// Which key that is.
pub const VARIED: Text = Text::new("What varies", "改变哪一项");
/// Opens the list of programs that a configuration can be copied for.
pub const FOR_PROGRAMS: Text = Text::new("Copy for another program", "复制为其他程序的配置");
/// A file's text is on the clipboard.
pub const FILE_COPIED: Text = Text::new("Copied", "已复制");
/// Saves a file.
pub const SAVE_AS: Text = Text::new("Save as {kind}", "导出 {kind}");
/// Name of the row of buttons.
pub const EXPORTS: Text = Text::new("Save as", "导出");

// Totals.

/// How many parameters.
pub const MODEL_SIZE: Text = Text::new("parameters", "参数量");
/// When no step is running.
pub const BETWEEN_STEPS: Text = Text::new("between steps", "步间占用");
/// The same with the gradients kept.
pub const WITH_GRADIENTS: Text = Text::new("{size} if gradients are kept", "保留梯度则为 {size}");

// Ledger.

/// Caption.
pub const LEDGER: Text = Text::new("Every tensor", "全部张量");
/// What the rows do.
pub const LEDGER_HELP: Text = Text::new("A row unfolds to its formula.", "点击任意一行可查看公式与出处。");
/// Column.
pub const TENSOR: Text = Text::new("Tensor", "张量");
/// Column.
pub const SHAPE_COLUMN: Text = Text::new("Shape", "形状");
/// Column.
pub const COUNT: Text = Text::new("Count", "数量");
/// Column.
pub const SIZE: Text = Text::new("Size", "大小");
/// Column.
pub const AT_PEAK: Text = Text::new("At the peak", "峰值时刻");
/// Line of a row.
pub const FORMULA: Text = Text::new("Formula", "公式");
/// Line of a row.
pub const NUMBERS: Text = Text::new("In numbers", "代入数值");
/// Line of a row.
pub const WHY: Text = Text::new("Why it is kept", "为何保留");
/// Line of a row.
pub const RELEASE: Text = Text::new("What releases it", "如何省掉");
/// Line of a row.
pub const LIFE: Text = Text::new("Lives", "存活区间");
/// It is never freed.
pub const ALWAYS: Text = Text::new("all the time, also between steps", "始终存在，步与步之间也不释放");
/// From one phase to another.
pub const FROM_UNTIL: Text = Text::new("{from} → {until}", "{from} → {until}");

// When the program fails.

/// Heading.
pub const CRASHED: Text = Text::new("trainmem stopped", "trainmem 已停止运行");
/// What to do.
pub const CRASHED_MORE: Text = Text::new(
    "This is a fault of the program, not of your configuration. This link leads to it; please report it together with the message below.",
    "这是程序的错误，不是配置的问题。下面的链接可以重现它，请连同报错信息一并反馈。",
);
/// Way out.
pub const START_AFRESH: Text = Text::new("Start afresh", "重新开始");
