#include "cli/sweep_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/names.h"
#include "bench/sweep/identity.h"
#include "cli/arguments.h"
#include "placement/placement.h"

namespace evener::cli {
namespace {

constexpr const char* kMeasuring[] = {"train", "infer", "faces", "detect", "quantize", "matmul"};

bool is_variable(const std::string& key) {
  return key.starts_with('$');
}

/// The words that give an option a value.
std::vector<std::string> words_of_value(const job::OptionBase& option, const SweepValue& value) {
  if (option.is_positional()) return value;
  const bool is_switch = option.kind() == job::ValueKind::kSwitch || option.kind() == job::ValueKind::kSwitchOrOne;
  if (is_switch && value == SweepValue{"true"}) return {option.name()};
  if (is_switch && value == SweepValue{"false"}) return {};
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

measure::SweepCell cell_of(const SweepPlan& plan, const Command& command,
                           const std::map<std::string, std::string>& values) {
  measure::SweepCell cell;
  cell.values = values;
  cell.words = {command.name};
  const std::map<std::string, SweepValue> settings = settings_of(plan, values);
  for (const bool positional : {true, false}) {
    for (const job::OptionBase* option : command.options.options()) {
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
  cell.data = bench::data_identity({cell.words.begin() + 1, cell.words.end()});
  cell.key = bench::short_hash(identity + "\n" + cell.data);
  cell.folder = bench::cell_folder(plan.axes, values, cell.key);
  return cell;
}

}  // namespace

Command measured_command(const Command& program, const std::string& name) {
  std::vector<std::string> known;
  for (const Command& command : program.commands) {
    if (std::ranges::find(kMeasuring, command.name) == std::end(kMeasuring)) continue;
    if (command.name == name) return command;
    known.push_back(command.name);
  }
  const bool is_other = std::ranges::any_of(program.commands, [&](const Command& one) { return one.name == name; });
  if (is_other) {
    throw UsageError(
        fmt::format("'{}' leaves no record of what it measured; a sweep runs {}", name, fmt::join(known, ", ")));
  }
  throw UsageError(unknown_name_message("measuring command", name, known) +
                   (name.ends_with(".toml") ? "; no such file is here" : ""));
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

const job::OptionBase* option_of_key(const Command& command, const std::string& key) {
  if (is_variable(key)) {
    if (key.size() > 1 && key.find('=') == std::string::npos) return nullptr;
    throw UsageError(fmt::format("'{}' is no environment variable", printable(key)));
  }
  if (const auto reserved = reserved_keys().find(key); reserved != reserved_keys().end()) {
    throw UsageError(fmt::format("'{}' can't be set for the runs of a sweep: {}", key, reserved->second));
  }
  std::vector<std::string> known;
  for (const job::OptionBase* option : command.options.options()) {
    if (option->rules().hidden) continue;
    if (option->key() == key) return option;
    if (!reserved_keys().contains(option->key())) known.push_back(option->key());
  }
  throw UsageError(unknown_name_message("option of '" + command.name + "'", key, known));
}

std::vector<measure::SweepCell> cells_of(const SweepPlan& plan, const Command& program) {
  const Command command = measured_command(program, plan.command);
  std::vector<measure::SweepCell> cells;
  for (const auto& values : bench::combinations(plan.axes, plan.exclusions)) {
    cells.push_back(cell_of(plan, command, values));
  }
  return cells;
}

void check_cells(const SweepPlan& plan, const std::vector<measure::SweepCell>& cells,
                 const std::function<Command()>& program) {
  for (const measure::SweepCell& cell : cells) {
    Command one = program();  // with options that have no values yet
    std::erase_if(one.commands, [&](const Command& command) { return command.name != plan.command; });
    std::vector<std::string> words = {"evener"};
    words.insert(words.end(), cell.words.begin(), cell.words.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    try {
      const Command& command = parse(one, "", static_cast<int>(argv.size()), argv.data());
      if (const job::OptionBase* on = command.options.find("--on"); on != nullptr && on->given()) {
        placement::parse(on->given_words().back());
      }
      if (command.check) command.check();
    } catch (const UsageError& error) {
      const std::string name = bench::cell_name(plan.axes, cell.values);
      throw UsageError(name.empty() ? error.what() : fmt::format("the cell {}: {}", name, error.what()));
    }
  }
}

}  // namespace evener::cli
