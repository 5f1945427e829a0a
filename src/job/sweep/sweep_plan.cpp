// The plan of a sweep: a measured command, the options that all its runs share, and its axes.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "bench/sweep/identity.h"
#include "job/detect/detection.h"
#include "job/faces/faces_flags.h"
#include "job/infer/inference.h"
#include "job/matmul/matmul_job.h"
#include "job/options/placement_flags.h"
#include "job/quantize/quantization.h"
#include "job/sweep/sweep_flags.h"
#include "job/train/train_flags.h"
#include "placement/placement.h"

namespace evener::job {
namespace {

/// A command whose options are completed and checked where they need it.
template <typename Flags>
MeasuredCommand measured(const char* name) {
  const auto flags = std::make_shared<Flags>();
  MeasuredCommand command{.name = name, .options = flags->options(), .complete = [flags] {}, .check = [] {}};
  if constexpr (requires { complete(*flags); }) command.complete = [flags] { complete(*flags); };
  if constexpr (std::is_same_v<Flags, TrainFlags>) command.check = [flags] { check_placement(*flags); };
  return command;
}

const std::vector<std::pair<std::string, std::function<MeasuredCommand()>>>& measured_commands() {
  static const std::vector<std::pair<std::string, std::function<MeasuredCommand()>>> commands = {
      {"train", [] { return measured<TrainFlags>("train"); }},
      {"infer", [] { return measured<InferCommandFlags>("infer"); }},
      {"faces", [] { return measured<FacesCommandFlags>("faces"); }},
      {"detect", [] { return measured<DetectFlags>("detect"); }},
      {"quantize", [] { return measured<QuantizeFlags>("quantize"); }},
      {"matmul", [] { return measured<MatmulFlags>("matmul"); }}};
  return commands;
}

bool is_variable(const std::string& key) {
  return key.starts_with('$');
}

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
  cell.data = bench::data_identity({cell.words.begin() + 1, cell.words.end()});
  cell.key = bench::short_hash(identity + "\n" + cell.data);
  cell.folder = bench::cell_folder(plan.axes, values, cell.key);
  return cell;
}

/// Gives the options of the command these values, as its own command line would, and checks what can be known
/// beforehand.
void check_settings(const std::string& name, const std::map<std::string, SweepValue>& settings) {
  const MeasuredCommand command = measured_command(name);  // with options that have no values yet
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

MeasuredCommand measured_command(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [of, make] : measured_commands()) {
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
  const MeasuredCommand command = measured_command(plan.command);
  std::vector<record::SweepCell> cells;
  for (const auto& values : bench::combinations(plan.axes, plan.exclusions)) {
    cells.push_back(cell_of(plan, command, values));
  }
  for (const record::SweepCell& cell : cells) {
    try {
      check_settings(plan.command, settings_of(plan, cell.values));
    } catch (const UsageError& error) {
      const std::string name = bench::cell_name(plan.axes, cell.values);
      throw UsageError(name.empty() ? error.what() : fmt::format("the cell {}: {}", name, error.what()));
    }
  }
  return cells;
}

}  // namespace evener::job
