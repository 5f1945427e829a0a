// The words are checked before CLI11 sees them, because only here it is known what the nearest name is and which
// option lacks its value; CLI11 then hands the values to the options.
#include "cli/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "cli/foreign_names.h"
#include "cli/options/parser.h"
#include "job/options/config_file.h"

namespace evener::cli {
namespace {

using Words = std::vector<std::string>;

// What the words mean, as far as it must be known before CLI11 parses them.
struct CommandLine {
  const Command* command = nullptr;        // the innermost one
  std::string path;                        // "data info"; empty for the program itself
  std::size_t command_end = 0;             // index of the first word after the commands
  std::set<const job::OptionBase*> given;  // options that were typed
  bool has_positionals = false;
  bool wants_help = false;
  std::optional<std::string> config;       // value of --config
  std::optional<std::size_t> passed_on;    // index of the first word that is for another command
  std::vector<std::size_t> values_behind;  // indices of options that may go without a value, and have one behind them
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
      const std::string& word = words_[at_];
      if (looks_like_option(word)) {
        check_option(word);
      } else {
        check_plain(word);
      }
    }
    if (at_ < words_.size()) line_.has_positionals = line_.has_positionals || at_ + 1 < words_.size();
    return line_;
  }

 private:
  void check_plain(const std::string& word) {
    ++at_;
    const std::vector<Command>& commands = line_.command->commands;
    if (commands.empty()) {
      line_.has_positionals = true;
      if (line_.command->passes_words_on) pass_on();
      return;
    }
    std::vector<std::string> names;
    for (const Command& command : commands) {
      if (command.name == word) {
        line_.command = &command;
        line_.path = joined_path(line_.path, word);
        line_.command_end = at_;
        return;
      }
      names.push_back(command.name);
    }
    fail(line_, unknown_name_message("command", word, names));
  }

  /// The word before this place and all behind it are for another command.
  void pass_on() {
    line_.passed_on = at_ - 1;
    const auto asks_for_help = [](const std::string& word) { return word == "--help" || word == "-h"; };
    line_.wants_help =
        line_.wants_help || std::any_of(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end(), asks_for_help);
    at_ = words_.size();
  }

  void check_option(const std::string& word) {
    const auto equals = word.find('=');
    const bool is_long = word[1] == '-';
    const std::string name = is_long ? word.substr(0, equals) : word.substr(0, 2);
    ++at_;
    if (name == "--help" || name == "-h" || ((name == "--version" || name == "-V") && is_program())) {
      line_.wants_help = true;
      return;
    }
    const job::OptionBase* option = find(name);
    if (!option) fail_unknown(name);
    line_.given.insert(option);
    if (option->kind() == job::ValueKind::kSwitch) return;
    if (option->kind() == job::ValueKind::kSwitchOrOne && equals == std::string::npos) {
      if (at_ < words_.size() && !looks_like_option(words_[at_])) line_.values_behind.push_back(at_++ - 1);
      return;
    }
    std::string value;
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (at_ < words_.size() && !looks_like_option(words_[at_])) {
      value = words_[at_++];
    }
    if (value.empty()) fail(line_, fmt::format("'{}' needs a value: {}", name, option->value_words()));
    if (option == &general_.config) line_.config = value;
  }

  bool is_program() const { return line_.command == &program_; }

  const job::OptionBase* find(const std::string& name) const {
    if (!name.starts_with('-') || line_.command->options.empty()) return nullptr;
    if (name == general_.config.name()) return &general_.config;
    return line_.command->options.find(name);
  }

  [[noreturn]] void fail_unknown(const std::string& name) const {
    std::vector<std::string> known = {"--help"};
    if (is_program()) known.emplace_back("--version");
    for (const job::OptionBase* option : line_.command->options.options()) {
      if (!option->is_positional() && !option->rules().hidden) known.push_back(option->name());
    }
    if (!line_.command->options.empty()) known.push_back(general_.config.name());
    std::string nearest = nearest_name(name, known);
    const std::string dashed = with_dashes(name);
    for (const job::OptionBase* option : line_.command->options.options()) {
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
  std::size_t at_ = 0;
  CommandLine line_;
};

// "--resume DIR" as "--resume=DIR": CLI11 would take DIR for a positional.
Words with_joined_values(Words words, const CommandLine& line) {
  for (auto at = line.values_behind.rbegin(); at != line.values_behind.rend(); ++at) {
    words[*at] += "=" + words[*at + 1];
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(*at) + 1);
  }
  return words;
}

// With a mark behind which no word is an option of the command.
Words with_words_passed_on(Words words, const CommandLine& line) {
  if (!line.passed_on) return words;
  const auto first = words.begin() + static_cast<std::ptrdiff_t>(*line.passed_on);
  if (line.wants_help) {
    words.erase(first, words.end());
  } else {
    words.insert(first, "--");
  }
  return words;
}

// Adds what the file says and the command line doesn't.
Words with_config(const Words& words, const CommandLine& line) {
  const job::ConfigValues values = job::read_config(*line.config, line.command->options, line.path);
  Words result(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(line.command_end));
  if (!line.has_positionals) result.insert(result.end(), values.positionals.begin(), values.positionals.end());
  const auto rest = words.begin() + static_cast<std::ptrdiff_t>(line.command_end);
  const auto end_of_options = std::find(rest, words.end(), "--");
  result.insert(result.end(), rest, end_of_options);
  for (const auto& [option, option_words] : values.options) {
    if (!line.given.contains(option)) result.insert(result.end(), option_words.begin(), option_words.end());
  }
  result.insert(result.end(), end_of_options, words.end());
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
  const CommandLine line = Checker(program, general, words).check();
  if (!line.wants_help && line.command != &program) require_inner_command(line);
  words = with_joined_values(with_words_passed_on(std::move(words), line), line);
  if (line.config && !line.wants_help) words = with_config(words, line);
  try {
    read_words(program, general, version, words);
  } catch (const UsageError& error) {
    fail(line, error.what());
  }
  if (line.command->complete) line.command->complete();
  require_all(line);
  line.command->options.check();
  return *line.command;
}

}  // namespace evener::cli
