#include "sweep/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "placement/placement.h"
#include "sweep/run/identity.h"
#include "sweep/sweep_job.h"

namespace evener::sweeps {
namespace {

constexpr int kFewestWithUntil = 5;

/// 0.02 for "ci=2%".
double width_of(const std::string& text) {
  constexpr std::string_view kBegin = "ci=";
  const std::string_view number = std::string_view(text).substr(text.starts_with(kBegin) ? kBegin.size() : 0);
  const double percent = to_percentage(number).value_or(Percentage()).percent;
  if (number.size() < text.size() && percent > 0 && percent <= 100) return percent / 100;
  throw UsageError(
      fmt::format("--until is {}; it has to be ci=P%, such as ci={}", quoted_text(text), percentage_for(number, "2%")));
}

using SweepWords = std::vector<std::string>;

bool is_option_word(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && (word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])));
}

/// "NAME=VALUES" of an environment variable.
bool is_variable_word(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0 || std::isdigit(static_cast<unsigned char>(word[0]))) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t comma = text.find(',', begin);
    parts.push_back(text.substr(begin, comma - begin));
    if (comma == std::string::npos) return parts;
    begin = comma + 1;
  }
}

bool is_variable(const std::string& key) {
  return key.starts_with('$');
}

class WordReader {
 public:
  WordReader(const SweepWords& words, SweepFlags& flags) : words_(words), flags_(flags) {}

  /// No command is among the words.
  void read_own() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (!is_option_word(word)) {
        throw UsageError(fmt::format("'{}' is one argument too many: what is run stands in the file", printable(word)));
      }
      take_option(word);
    }
  }

  SweepPlan read() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (is_option_word(word)) {
        take_option(word);
      } else {
        take_plain(word);
      }
    }
    if (!command_)
      throw UsageError("'evener sweep' needs an experiment's file or a measuring command; see 'evener sweep --help'");
    give_positionals();
    plan_.default_out = default_out();
    return std::move(plan_);
  }

 private:
  void take_plain(const std::string& word) {
    if (command_) {
      positionals_.push_back(word);
    } else if (is_variable_word(word)) {
      const std::size_t equals = word.find('=');
      const std::string key = "$" + word.substr(0, equals), value = word.substr(equals + 1);
      add(key, value, divided(key, value, false));
    } else {
      command_ = measured_command(flags_.plan.commands, word);
      plan_.command = word;
    }
  }

  void take_option(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const bool is_sweeps_own =
        name.size() > 2 && reserved_keys().contains(name.substr(2)) && own_.find(name) != nullptr;
    if (OptionBase* option = command_ && !is_sweeps_own ? command_->options.find(name) : nullptr) {
      option_of_key(*command_, option->key());  // refuses what a sweep sets itself
      add_option(*option, value_of(*option, word, equals));
      return;
    }
    OptionBase* own = own_.find(name);
    if (own == nullptr) fail_unknown(name);
    const auto value = value_of(*own, word, equals);
    own->give({value.value_or("true")});
  }

  /// The value of an option on the command line; absent for a switch without a value.
  std::optional<std::string> value_of(const OptionBase& option, const std::string& word, std::size_t equals) {
    if (equals != std::string::npos) return word.substr(equals + 1);
    if (option.kind() == ValueKind::kSwitch) return std::nullopt;
    if (at_ < words_.size() && !is_option_word(words_[at_])) return words_[at_++];
    if (option.kind() == ValueKind::kSwitchOrOne) return std::nullopt;
    throw UsageError(fmt::format("'{}' needs a value: {}", option.name(), option.value_words()));
  }

  [[noreturn]] void fail_unknown(const std::string& name) const {
    std::vector<std::string> known;
    for (const OptionBase* option : flags_.options()) known.push_back(option->name());
    if (command_) {
      for (const OptionBase* option : command_->options.options()) known.push_back(option->name());
    }
    const std::string nearest = nearest_name(name, known);
    throw UsageError(fmt::format("unknown option '{}'{}; see 'evener sweep --help'{}", name,
                                 nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest),
                                 command_ ? fmt::format(" and 'evener {} --help'", command_->name) : ""));
  }

  /// The values that a text stands for.
  std::vector<SweepValue> divided(const std::string& key, const std::string& text, bool has_commas) const {
    if (has_commas && text.find(',') != std::string::npos) {
      const std::vector<std::string> parts = split_at_commas(text);
      const auto is_assigned = [](const std::string& part) { return part.find('=') != std::string::npos; };
      if (std::ranges::all_of(parts, is_assigned)) return {{text}};  // one value, such as cpu=65W,idle=20W
      throw UsageError(
          fmt::format("'{0}' has values with commas of their own, so '{1}' could be one value or several. Write it "
                      "into a file for 'evener sweep FILE.toml': under [options] {0} = \"{1}\" for the one, under "
                      "[axes] {0} = [\"...\", \"...\"] for several (docs/sweeps.md)",
                      key, printable(text)));
    }
    if (std::error_code none; std::filesystem::exists(text, none)) return {{text}};
    std::vector<SweepValue> values;
    for (const std::string& part : split_at_commas(text)) {
      if (part.empty()) throw UsageError(fmt::format("'{}' has an empty value in '{}'", key, printable(text)));
      for (std::string& value : expanded(part)) values.push_back({std::move(value)});
    }
    return values;
  }

  void add_option(const OptionBase& option, const std::optional<std::string>& value) {
    const bool has_commas = option.rules().has_commas || option.words().value.find(',') != std::string::npos;
    if (!value) return add(option.key(), "true", {{"true"}});
    const bool is_further = !option.rules().joint.empty() && plan_.fixed.contains(option.key());
    if (option.kind() == ValueKind::kMany || is_further) {  // it may stand here several times
      plan_.fixed[option.key()].push_back(*value);
      return;
    }
    add(option.key(), *value, divided(option.key(), *value, has_commas));
  }

  /// `text`: the values as they were written.
  void add(const std::string& key, const std::string& text, std::vector<SweepValue> values) {
    const auto [before, is_first] = texts_.emplace(key, text);
    if (!is_first && !(text == "true" && before->second == text)) {
      const std::string name = is_variable(key) ? key.substr(1) : "--" + key;
      throw UsageError(given_twice_message(name, {before->second, text}) + ", with commas between several values");
    }
    if (values.size() == 1) {
      plan_.fixed[key] = values.front();
      return;
    }
    record::SweepAxis& axis = plan_.axes.emplace_back();
    axis.names = {key};
    for (SweepValue& value : values) {
      const std::string text = fmt::format("{}", fmt::join(value, " "));
      axis.steps.push_back({text});
      plan_.values[key][text] = std::move(value);
    }
  }

  void give_positionals() {
    std::size_t next = 0;
    for (const OptionBase* option : command_->options.options()) {
      if (!option->is_positional() || next == positionals_.size()) continue;
      if (option->kind() == ValueKind::kMany) {
        plan_.fixed[option->key()] = {positionals_.begin() + static_cast<std::ptrdiff_t>(next), positionals_.end()};
        next = positionals_.size();
      } else {
        const std::string& text = positionals_[next++];
        add(option->key(), text, divided(option->key(), text, option->rules().has_commas));
      }
    }
    if (next < positionals_.size()) {
      throw UsageError(
          fmt::format("'{}' is one argument too many for '{}'", printable(positionals_[next]), plan_.command));
    }
  }

  /// The same for the same command and fixed options: a new value of an axis goes to the folder that is there.
  std::string default_out() const {
    std::string fixed;
    for (const auto& [key, value] : plan_.fixed) fixed += fmt::format("{}={}\n", key, fmt::join(value, " "));
    return fmt::format("runs/sweep-{}-{}", plan_.command, short_hash(fixed).substr(0, 6));
  }

  const SweepWords& words_;
  SweepFlags& flags_;
  const OptionSet own_{&flags_};
  std::size_t at_ = 0;
  std::optional<MeasuredCommand> command_;
  SweepWords positionals_;
  std::map<std::string, std::string> texts_;  // by key
  SweepPlan plan_;
};

bool is_switch(const OptionBase& option) {
  return option.kind() == ValueKind::kSwitch || option.kind() == ValueKind::kSwitchOrOne;
}

/// Whether the value says that a switch isn't given.
bool is_off(const OptionBase& option, const SweepValue& value) {
  return is_switch(option) && value == SweepValue{"false"};
}

/// The words that give an option a value.
std::vector<std::string> words_of_value(const OptionBase& option, const SweepValue& value) {
  if (option.is_positional()) return value;
  if (is_off(option, value)) return {};
  if (is_switch(option) && value == SweepValue{"true"}) return {option.name()};
  std::vector<std::string> words;
  for (const std::string& word : value) words.push_back(option.name() + "=" + word);
  return words;
}

/// Every key with its value in this cell.
std::map<std::string, SweepValue> settings_of(const SweepPlan& plan, const std::map<std::string, std::string>& values) {
  std::map<std::string, SweepValue> settings = plan.fixed;
  for (const auto& [key, text] : values) settings[key] = plan.values.at(key).at(text);
  return settings;
}

record::SweepCell cell_of(const SweepPlan& plan, const MeasuredCommand& command,
                          const std::map<std::string, std::string>& values) {
  record::SweepCell cell;
  cell.values = values;
  cell.words = {command.name};
  const std::map<std::string, SweepValue> settings = settings_of(plan, values);
  for (const bool positional : {true, false}) {
    for (const OptionBase* option : command.options.options()) {
      const auto found = settings.find(option->key());
      if (found == settings.end() || option->is_positional() != positional) continue;
      for (std::string& word : words_of_value(*option, found->second)) cell.words.push_back(std::move(word));
    }
  }
  std::string identity = fmt::format("{}", fmt::join(cell.words, "\n"));
  for (const auto& [key, value] : settings) {
    if (!is_variable(key)) continue;
    cell.environment[key.substr(1)] = value.empty() ? "" : value.front();
    identity += fmt::format("\n{}={}", key, cell.environment[key.substr(1)]);
  }
  cell.data = data_identity({cell.words.begin() + 1, cell.words.end()});
  cell.key = short_hash(identity + "\n" + cell.data);
  cell.folder = cell_folder(plan.axes, values, cell.key);
  return cell;
}

/// Gives the options of the command these values, as its own command line would, and checks what can be known
/// beforehand.
void check_settings(const SweepPlan& plan, const std::map<std::string, SweepValue>& settings) {
  const std::string& name = plan.command;
  const MeasuredCommand command = measured_command(plan.commands, name);  // with options that have no values yet
  for (OptionBase* option : command.options.options()) {
    const auto found = settings.find(option->key());
    if (found == settings.end() || is_off(*option, found->second)) continue;
    const bool is_bare = option->kind() == ValueKind::kSwitchOrOne && found->second == SweepValue{"true"};
    option->read(is_bare ? SweepValue{} : found->second);
  }
  command.complete();
  if (const std::vector<std::string> missing = command.options.missing(); !missing.empty()) {
    throw UsageError(fmt::format("'evener {0}' needs {1}; see 'evener {0} --help'", name, fmt::join(missing, " and ")));
  }
  command.options.check();
  if (const OptionBase* on = command.options.find("--on"); on != nullptr && on->given()) {
    placement::parse(on->given_words().back());
  }
  command.check();
}

}  // namespace

void SweepFlags::fill(record::SweepRecord& sweep) const {
  sweep.repeats = *repeats;
  sweep.warmup = *warmup;
  if (!until->empty()) sweep.until_width = width_of(*until);
  sweep.max_runs = *max_runs;
  if (*steady) sweep.steady_deviation = (*steady)->share();
  sweep.setup = *setup;
  sweep.prepare = *prepare;
  sweep.cleanup = *cleanup;
  sweep.cool_down = *cool_down;
  sweep.run_limit_s = *run_limit;
  sweep.time_limit_s = *time_limit;
  sweep.energy_repeats = *energy_repeats;
  sweep.order_seed = *order_seed;
}

void SweepFlags::check_together() const {
  if (until->empty()) return;
  width_of(*until);
  const int first = *repeats;
  if (first < kFewestWithUntil) {
    throw UsageError(
        fmt::format("--until judges the spread by the first runs, and {} are too few: give --repeats {} or more", first,
                    kFewestWithUntil));
  }
  if (*max_runs < first) throw UsageError(fmt::format("--max-runs {} is less than --repeats {}", *max_runs, first));
}

void complete(SweepFlags& flags, const MeasuredCommands& commands) {
  flags.plan.commands = commands;
  std::vector<std::string> words = *flags.what;
  if (words.empty()) return;
  if (!words.front().ends_with(".toml") || !std::filesystem::exists(words.front())) {
    flags.plan = WordReader(words, flags).read();
    if (!flags.scale->empty()) throw UsageError("--scale names a part of an experiment's file, and none was given");
  } else {
    const std::string path = words.front();
    words.erase(words.begin());
    WordReader(words, flags).read_own();
    flags.plan = plan_from_file(path, flags);
  }
  flags.plan.commands = commands;
  if (*flags.steady) run_length_of(flags.plan);
}

MeasuredCommand measured_command(const MeasuredCommands& commands, const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [of, make] : commands) {
    if (of == name) return make();
    known.push_back(of);
  }
  const std::string nearest = nearest_name(name, known);
  throw UsageError(fmt::format("'{}' is no command that leaves a record of what it measured; a sweep runs {}{}{}",
                               printable(name), fmt::join(known, ", "),
                               nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest),
                               name.ends_with(".toml") ? "; no such file is here" : ""));
}

const std::map<std::string, std::string>& reserved_keys() {
  static const std::map<std::string, std::string> reserved = {
      {"out", "each run gets a folder of its own; that of the sweep is its own key or option"},
      {"json", "each run's record is in its folder"},
      {"dry-run", "the sweep's own --dry-run lists all runs"},
      {"overwrite", "a sweep goes on where it stopped and replaces nothing"},
      {"resume", "a sweep goes on where it stopped; a single run can't be one of its cells"},
      {"quiet", "what runs say goes to their logs"},
      {"trace", "the runs of a sweep would write to one file"}};
  return reserved;
}

const OptionBase* option_of_key(const MeasuredCommand& command, const std::string& key) {
  if (is_variable(key)) {
    if (key.size() > 1 && key.find('=') == std::string::npos) return nullptr;
    throw UsageError(fmt::format("'{}' is no environment variable", printable(key)));
  }
  if (const auto reserved = reserved_keys().find(key); reserved != reserved_keys().end()) {
    throw UsageError(fmt::format("'{}' can't be set for the runs of a sweep: {}", key, reserved->second));
  }
  std::vector<std::string> known;
  for (const OptionBase* option : command.options.options()) {
    if (option->rules().hidden) continue;
    if (option->key() == key) return option;
    if (!reserved_keys().contains(option->key())) known.push_back(option->key());
  }
  throw UsageError(unknown_name_message("option of '" + command.name + "'", key, known));
}

std::vector<record::SweepCell> cells_of(const SweepPlan& plan) {
  const MeasuredCommand command = measured_command(plan.commands, plan.command);
  std::vector<record::SweepCell> cells;
  for (const auto& values : combinations(plan.axes, plan.exclusions)) {
    cells.push_back(cell_of(plan, command, values));
  }
  for (const record::SweepCell& cell : cells) {
    try {
      check_settings(plan, settings_of(plan, cell.values));
    } catch (const UsageError& error) {
      const std::string name = cell_name(plan.axes, cell.values);
      throw UsageError(name.empty() ? error.what() : fmt::format("the cell {}: {}", name, error.what()));
    }
  }
  return cells;
}

}  // namespace evener::sweeps
