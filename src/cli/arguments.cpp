// The words are checked before CLI11 sees them, because only here it is known what the nearest name is and which
// option lacks its value; CLI11 then converts and stores the values.
#include "cli/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "cli/config_file.h"

namespace evener::cli {
namespace {

using Words = std::vector<std::string>;

std::string see_help(const CLI::App& command) {
  const bool top = command.get_parent() == nullptr;
  return top ? "see 'evener --help'" : fmt::format("see 'evener {} --help'", command_path(command));
}

[[noreturn]] void fail(const CLI::App& command, const std::string& what) {
  throw UsageError(what + "; " + see_help(command));
}

std::vector<CLI::App*> subcommands(const CLI::App& app) {
  // The list without a filter would be that of the sub-commands already parsed.
  return const_cast<CLI::App&>(app).get_subcommands([](CLI::App*) { return true; });
}

CLI::App* find_subcommand(const CLI::App& app, const std::string& name) {
  for (CLI::App* command : subcommands(app)) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

// CLI11's names of types in words.
std::string value_words(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type == "INT") return "a whole number";
  if (type == "UINT") return "a whole number, 0 or more";
  if (type == "FLOAT") return "a number";
  return type == "TEXT" ? "a text" : type;
}

bool looks_like_option(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return false;
  return word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1]));  // "-0.5" and "-" are values
}

// " ('--batch' is an option of 'train')" if another command knows a name; "" otherwise.
std::string owner_hint(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : subcommands(app)) {
    if (command->get_option_no_throw(name)) {
      return fmt::format("; '{}' comes after the command, as in 'evener {} {}'", name, command_path(*command), name);
    }
  }
  return "";
}

// What the words mean, as far as it must be known before CLI11 parses them.
struct CommandLine {
  CLI::App* command = nullptr;         // the innermost one
  std::size_t command_end = 0;         // index of the first word after the commands
  std::set<const CLI::Option*> given;  // options that were typed
  bool has_positionals = false;
  bool wants_help = false;
  std::optional<std::string> config;  // value of --config
};

class Checker {
 public:
  Checker(CLI::App& app, const Words& words) : words_(words) { line_.command = &app; }

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
    const auto commands = subcommands(*line_.command);
    if (commands.empty()) {
      line_.has_positionals = true;
      return;
    }
    CLI::App* next = find_subcommand(*line_.command, word);
    if (next) {
      line_.command = next;
      line_.command_end = at_;
      return;
    }
    std::vector<std::string> names;
    for (const CLI::App* command : commands) names.push_back(command->get_name());
    fail(*line_.command, unknown_name_message("command", word, names));
  }

  void check_option(const std::string& word) {
    const auto equals = word.find('=');
    const bool is_long = word[1] == '-';
    const std::string name = is_long ? word.substr(0, equals) : word.substr(0, 2);
    const CLI::Option* option = line_.command->get_option_no_throw(name);
    if (!option) fail_unknown(name);
    ++at_;
    const std::string key = option_key(*option);
    if (key == "help" || key == "version") line_.wants_help = true;
    line_.given.insert(option);
    const int most = option->get_items_expected_max();
    if (most == 0) return;
    std::string value;
    if (is_long && equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (!is_long && word.size() > 2) {
      value = word.substr(2);
    } else if (at_ < words_.size() && !looks_like_option(words_[at_])) {
      value = words_[at_++];
      // An option with many values takes all plain words that follow, unless each has to have the option before it.
      while (most > 1 && option->get_allow_extra_args() && at_ < words_.size() && !looks_like_option(words_[at_]))
        ++at_;
    }
    if (value.empty()) fail(*line_.command, fmt::format("'{}' needs a value: {}", name, value_words(*option)));
    if (key == "config") line_.config = value;
  }

  [[noreturn]] void fail_unknown(const std::string& name) const {
    std::vector<std::string> known;
    for (const CLI::Option* option : line_.command->get_options()) {
      for (const std::string& long_name : option->get_lnames()) known.push_back("--" + long_name);
    }
    const std::string nearest = nearest_name(name, known);
    std::string text = fmt::format("unknown option '{}'", name);
    if (!nearest.empty()) {
      text += fmt::format("; did you mean '{}'?", nearest);
      throw UsageError(fmt::format("{} ({})", text, see_help(*line_.command)));
    }
    if (line_.command->get_parent() == nullptr) text += owner_hint(*line_.command, name);
    fail(*line_.command, text);
  }

  const Words& words_;
  std::size_t at_ = 0;
  CommandLine line_;
};

// --config for every command that has options of its own.
void add_config_option(CLI::App& app) {
  for (CLI::App* command : subcommands(app)) {
    add_config_option(*command);
    const bool has_options = command->get_options().size() > 1;  // more than --help
    if (has_options && !command->get_option_no_throw("--config")) {
      command->add_option("--config")->type_name("FILE")->description("TOML file with options, as in: epochs = 10");
    }
  }
}

// Of an option with one value that is given twice the last one counts, as in other programs: a command can be repeated
// with a word added at its end. Options that take lists keep them all, and a second MODEL is one too many.
void let_the_last_win(CLI::App& app) {
  for (CLI::App* command : subcommands(app)) let_the_last_win(*command);
  for (CLI::Option* option : app.get_options()) {
    const bool keeps_all = option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    if (option->nonpositional() && option->get_items_expected_max() == 1 && !keeps_all) option->take_last();
  }
}

// Adds what the file says and the command line doesn't.
Words with_config(const Words& words, const CommandLine& line) {
  const ConfigValues values = read_config(*line.config, *line.command);
  Words result(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(line.command_end));
  if (!line.has_positionals) result.insert(result.end(), values.positionals.begin(), values.positionals.end());
  const auto rest = words.begin() + static_cast<std::ptrdiff_t>(line.command_end);
  const auto end_of_options = std::find(rest, words.end(), "--");
  result.insert(result.end(), rest, end_of_options);
  // At the end: an option with many values would take positionals that follow it.
  for (const auto& [option, option_words] : values.options) {
    if (!line.given.contains(option)) result.insert(result.end(), option_words.begin(), option_words.end());
  }
  result.insert(result.end(), end_of_options, words.end());
  return result;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

[[noreturn]] void fail_required(const CLI::App& command) {
  std::vector<std::string> missing;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    missing.push_back(option->nonpositional() ? "--" + option_key(*option) : upper(option_key(*option)));
  }
  if (missing.empty()) {
    for (const CLI::App* sub : subcommands(command)) missing.push_back("'" + sub->get_name() + "'");
    fail(command, fmt::format("'evener {}' needs one of {}", command_path(command), fmt::join(missing, ", ")));
  }
  fail(command, fmt::format("'evener {}' needs {}", command_path(command), fmt::join(missing, " and ")));
}

// "Could not convert: --epochs = abc" in our words; other texts as they are.
[[noreturn]] void fail_conversion(const CLI::App& command, const std::string& text) {
  static const std::string kStart = "Could not convert: ";
  const auto middle = text.find(" = ");
  if (!text.starts_with(kStart) || middle == std::string::npos) fail(command, text);
  const std::string name = text.substr(kStart.size(), middle - kStart.size());
  const CLI::Option* option = command.get_option_no_throw(name);
  const std::string wanted = option ? value_words(*option) : "a value of the right kind";
  fail(command, fmt::format("{} '{}' is not {}, or is too large", name, text.substr(middle + 3), wanted));
}

void run_parser(CLI::App& app, const CLI::App& command, const Words& words) {
  Words reversed(words.rbegin(), words.rend());  // CLI11 takes them from the back
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    throw HelpPrinted{};
  } catch (const CLI::CallForVersion& version) {
    std::fprintf(stdout, "%s\n", version.what());
    throw HelpPrinted{};
  } catch (const CLI::RequiredError&) {
    fail_required(command);
  } catch (const CLI::ConversionError& error) {
    fail_conversion(command, error.what());
  } catch (const CLI::ExtrasError&) {
    fail(command, fmt::format("'{}' is one argument too many", fmt::join(app.remaining(true), "', '")));
  } catch (const CLI::ParseError& error) {
    fail(command, error.what());
  }
}

}  // namespace

void parse(CLI::App& app, int argc, char** argv) {
  Words words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "help") {  // `evener help train` is what many type
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  add_config_option(app);
  let_the_last_win(app);
  const CommandLine line = Checker(app, words).check();
  if (line.config && !line.wants_help) words = with_config(words, line);
  run_parser(app, *line.command, words);
}

}  // namespace evener::cli
