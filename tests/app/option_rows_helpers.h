// The table of what every option of every command does: option_table_test.cpp asks it of each option that the program
// itself tells of, so that a new option without a row is a failure.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/open/open_data.h"
#include "measure/run/metered_run.h"
#include "options/option.h"
#include "placement/plan.h"
#include "support/run_helpers.h"

namespace evener::test {

struct OptionRow {
  std::string commands;  // that have the option: "train|plan"
  Words given;           // names and values by turns, of which the first option is the row's; a switch is "true"
  /// What it moves, as a place in JSON: of what the command's job is handed ("/rate", see CommandWords), of
  /// what a run leaves ("/run/files", see what_a_run_leaves()), "/error", or "test:SUITE.NAME", another test
  /// of any room, whose file gives the option to a command.
  std::string place;
  /// What stands there then, and not without the option. A text that begins with ~ is a part of what stands there; of
  /// null only that it is something else.
  nlohmann::json expected = nullptr;
  Words with = {};  // given in both cases
};

/// What is known of a command beside its rows.
struct CommandWords {
  std::string command;
  Words least = {};   // what its job is handed at least
  Words of_run = {};  // what a run takes in place of, or beside, these; "{}" stands for its folder
  /// What `evener COMMAND` hands to the part that does the work, in that part's units; without doing any work. Throws
  /// UsageError as the command does. Empty for a command whose rows are all of runs.
  nlohmann::json (*handed)(const Words& given) = nullptr;
};

/// Each room's option_rows_helpers.cpp adds its commands and rows before main() begins, so that nothing lists the
/// rooms.
bool add_to_option_table(const std::vector<CommandWords>& commands, const std::vector<std::vector<OptionRow>>& rows);
const std::vector<OptionRow>& all_option_rows();
CommandWords words_of(const std::string& command);

template <class T>
nlohmann::json value_or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

/// Gives the options their words and checks them, as the command line does.
void give_all(const OptionSet& options, const Words& given);

/// The description of the run around the work, and of its energy.
nlohmann::json around_json(const measure::RunOptions& options);
nlohmann::json plan_json(const placement::Plan& plan);
nlohmann::json data_json(const data::DataOptions& options);

}  // namespace evener::test
