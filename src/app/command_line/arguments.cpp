// The words are checked before CLI11 sees them, because only here it is known what the nearest name is and which
// option lacks its value; CLI11 then hands the values to the options.
#include "app/command_line/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_line/parser.h"
#include "base/error.h"
#include "base/names.h"
#include "options/option.h"
#include "options/progress_line.h"

namespace evener::app {
namespace {

/// Advice on options of other programs that evener calls by another name.
struct ForeignNames {
  std::string_view names;  // each with a blank before and behind it
  std::string_view ours;   // the option that a command has to have for it
  const char* advice;
};

constexpr ForeignNames kForeignNames[] = {
    {" --threads --num-threads ", "--on", "threads belong to the placement, as in --on cpu/t4"},
    {" --device ", "--on", "where to compute is said by --on, as in --on cpu or --on cuda:0"},
    {" --gpu ", "--on", "where to compute is said by --on, as in --on cuda:0"},
    {" --gpus --num-gpus ", "--on", "where to compute is said by --on, as in --on cuda:all"},
    {" --workers --num-workers ", "--loader-threads", "what reads images in the background is --loader-threads"},
    {" --workers --num-workers ", "--reading-threads", "threads that read images are --reading-threads"},
    {" --fp16 ", "--precision", "arithmetic is chosen by --precision, as in --precision fp16"},
    {" --bf16 --half --amp ", "--precision", "arithmetic is chosen by --precision, as in --precision bf16"},
    {" --arch --model ", "MODEL", "the network is named without an option, as in 'resnet18'"},
    {" --pretrained ", "--weights", "weights to start from are a file, as in --weights resnet18.pth"},
    {" --imgsz --img-size --image-size ", "--size", "the size of images is --size, as in --size 224x224"},
    {" --out --output ", "--html", "the page goes where --html says, as in --html page.html"},
    {" --early-stopping ", "--patience", "to end without progress there is --patience, as in --patience 5"},
    {" --limit --max-images ", "--split",
     "for a part of the data alone there is --split, as in --split 20/5/5 for 30 % of it"}};

/// A sentence that says what to use instead of the unknown option `name`, such as "--device"; empty where nothing is
/// known of it. `options`: those of the command.
std::string advice_on(const std::string& name, const OptionSet& options) {
  for (const ForeignNames& foreign : kForeignNames) {
    const bool is_it = foreign.names.find(" " + name + " ") != std::string_view::npos;
    if (is_it && options.find(std::string(foreign.ours))) return foreign.advice;
  }
  return "";
}

using Words = std::vector<std::string>;

// The meaning of the words, as far as it must be known before CLI11 parses them.
struct CommandLine {
  const Command* command = nullptr;   // the innermost one
  std::string path;                   // "data info"; empty for the program itself
  Words words;                        // as CLI11 is to have them
  std::size_t command_end = 0;        // index of the first of them after the commands
  std::set<const OptionBase*> given;  // options that were typed
  bool has_positionals = false;
  bool wants_help = false;
  std::optional<std::string> config;  // value of --config
};

std::string see_help(const std::string& path) {
  return path.empty() ? "see 'evener --help'" : fmt::format("see 'evener {} --help'", path);
}

[[noreturn]] void fail(const CommandLine& line, const std::string& what) {
  throw UsageError(what + "; " + see_help(line.path));
}

std::string joined_path(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + " " + name;
}

bool looks_like_option(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return false;
  return word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1]));  // "-0.5" and "-" are values
}

// "; '--batch' comes after the command, as in ..." if a command knows the name; "" otherwise.
std::string owner_hint(const Command& program, const std::string& name) {
  for (const Command& command : program.commands) {
    if (command.options.find(name)) {
      return fmt::format("; '{}' comes after the command, as in 'evener {} {}'", name, command.name, name);
    }
  }
  return "";
}

/// "--batch_size" as "--batch-size".
std::string with_dashes(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name;
}

class Checker {
 public:
  Checker(const Command& program, GeneralFlags& general, const Words& words)
      : program_(program), general_(general), words_(words) {
    line_.command = &program;
  }

  CommandLine check() {
    while (at_ < words_.size() && words_[at_] != "--") {
      if (looks_like_option(words_[at_])) {
        check_option(take());
      } else {
        check_plain(take());
      }
    }
    line_.has_positionals = line_.has_positionals || at_ + 1 < words_.size();
    take_rest();
    return line_;
  }

 private:
  const std::string& take() {
    line_.words.push_back(words_[at_]);
    return words_[at_++];
  }

  void take_rest() {
    while (at_ < words_.size()) take();
  }

  void check_plain(const std::string& word) {
    const std::vector<Command>& commands = line_.command->commands;
    if (commands.empty()) {
      line_.has_positionals = true;
      if (line_.command->passes_words_on) return pass_on();
      return count_plain(word);
    }
    std::vector<std::string> names;
    for (const Command& command : commands) {
      if (command.name == word) {
        line_.command = &command;
        line_.path = joined_path(line_.path, word);
        line_.command_end = line_.words.size();
        return;
      }
      names.push_back(command.name);
    }
    fail(line_, unknown_name_message("command", word, names));
  }

  /// Of a word too many behind an option that may be given several times, tells that each value wants the name.
  void count_plain(const std::string& word) {
    std::size_t places = 0;
    for (const OptionBase* option : line_.command->options.options()) {
      if (option->is_positional() && option->kind() == ValueKind::kMany) return;
      places += option->is_positional() ? 1 : 0;
    }
    if (++plain_ <= places || several_ == nullptr) return;
    fail(line_, fmt::format("'{0}' is one argument too many: name {1} before each value, as in {1} {2} {1} {0}",
                            printable(word), several_->name(), printable(several_value_)));
  }

  /// The word that was taken last and all behind it are for another command: behind a "--" no word is an option of
  /// this one.
  void pass_on() {
    line_.words.back() = "--";
    --at_;
    const std::size_t kept = line_.words.size() - 1;
    take_rest();
    const auto asks_for_help = [](const std::string& word) { return word == "--help" || word == "-h"; };
    line_.wants_help = line_.wants_help || std::ranges::any_of(line_.words, asks_for_help);
    if (!line_.wants_help) return;
    line_.words.resize(kept);
    line_.words.emplace_back("--help");
  }

  void check_option(const std::string& word) {
    const auto equals = word.find('=');
    const bool is_long = word[1] == '-';
    const std::string name = is_long ? word.substr(0, equals) : word.substr(0, 2);
    if (name == "--help" || name == "-h" || ((name == "--version" || name == "-V") && is_program())) {
      line_.wants_help = true;
      return;
    }
    const OptionBase* option = find(name);
    if (!option) fail_unknown(name);
    line_.given.insert(option);
    if (option->kind() == ValueKind::kSwitch) return;
    if (option->kind() == ValueKind::kSwitchOrOne && equals == std::string::npos) {
      // "--resume DIR" as "--resume=DIR": CLI11 would take DIR for a positional.
      if (has_value_behind()) line_.words.back() += "=" + words_[at_++];
      return;
    }
    std::string value;
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (has_value_behind()) {
      value = take();
    }
    several_ = option->takes_several() ? option : nullptr;
    several_value_ = value;
    if (value.empty()) fail(line_, fmt::format("'{}' needs a value: {}", name, option->value_words()));
    if (option != &general_.config) return;
    if (line_.config) fail(line_, given_twice_message(name, {*line_.config, value}));
    line_.config = value;
  }

  bool has_value_behind() const { return at_ < words_.size() && !looks_like_option(words_[at_]); }

  bool is_program() const { return line_.command == &program_; }

  const OptionBase* find(const std::string& name) const {
    if (!name.starts_with('-') || line_.command->options.empty()) return nullptr;
    if (name == general_.config.name()) return &general_.config;
    return line_.command->options.find(name);
  }

  [[noreturn]] void fail_unknown(const std::string& name) const {
    std::vector<std::string> known = {"--help"};
    if (is_program()) known.emplace_back("--version");
    for (const OptionBase* option : line_.command->options.options()) {
      if (!option->is_positional() && !option->rules().hidden) known.push_back(option->name());
    }
    if (!line_.command->options.empty()) known.push_back(general_.config.name());
    std::string nearest = nearest_name(name, known);
    const std::string dashed = with_dashes(name);
    for (const OptionBase* option : line_.command->options.options()) {
      if (option->is_called_elsewhere(dashed) || option->name() == dashed) nearest = option->name();
    }
    std::string text = fmt::format("unknown option '{}'", name);
    const std::string advice = advice_on(name, line_.command->options);
    if (!advice.empty()) fail(line_, text + ": " + advice);
    if (!nearest.empty()) {
      text += fmt::format("; did you mean '{}'?", nearest);
      throw UsageError(fmt::format("{} ({})", text, see_help(line_.path)));
    }
    if (is_program()) text += owner_hint(program_, name);
    fail(line_, text);
  }

  const Command& program_;
  GeneralFlags& general_;
  const Words& words_;
  std::size_t at_ = 0, plain_ = 0;
  const OptionBase* several_ = nullptr;  // the last option with a value, if it may be given several times
  std::string several_value_;
  CommandLine line_;
};

// Adds what the file says and the command line doesn't.
Words with_config(const CommandLine& line) {
  const ConfigValues values = read_config(*line.config, line.command->options, line.path);
  const auto rest = line.words.begin() + static_cast<std::ptrdiff_t>(line.command_end);
  Words result(line.words.begin(), rest);
  if (!line.has_positionals) result.insert(result.end(), values.positionals.begin(), values.positionals.end());
  const auto end_of_options = std::find(rest, line.words.end(), "--");
  result.insert(result.end(), rest, end_of_options);
  for (const auto& [option, option_words] : values.options) {
    if (!line.given.contains(option)) result.insert(result.end(), option_words.begin(), option_words.end());
  }
  result.insert(result.end(), end_of_options, line.words.end());
  return result;
}

void require_all(const CommandLine& line) {
  const std::vector<std::string> missing = line.command->options.missing();
  if (!missing.empty()) fail(line, fmt::format("'evener {}' needs {}", line.path, fmt::join(missing, " and ")));
}

void require_inner_command(const CommandLine& line) {
  std::vector<std::string> names;
  for (const Command& inner : line.command->commands) names.push_back("'" + inner.name + "'");
  if (!names.empty()) fail(line, fmt::format("'evener {}' needs one of {}", line.path, fmt::join(names, ", ")));
}

}  // namespace

const Command& parse(const Command& program, const std::string& version, int argc, char** argv) {
  Words words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "help") {  // `evener help train` is what many type
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  GeneralFlags general;
  CommandLine line = Checker(program, general, words).check();
  if (!line.wants_help && line.command != &program) require_inner_command(line);
  if (line.config && !line.wants_help) line.words = with_config(line);
  try {
    read_words(program, general, version, line.words);
  } catch (const UsageError& error) {
    fail(line, error.what());
  }
  if (line.command->complete) {
    ProgressLine progress(/*quiet=*/false);
    line.command->complete(progress);
  }
  require_all(line);
  line.command->options.check();
  return *line.command;
}

}  // namespace evener::app
