// The table of what every option of every command does: option_table_test.cpp asks it of each option that the program
// itself tells of, so that a new option without a row is a failure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/run_helpers.h"
#include "data/open/open_data.h"
#include "job/options/option.h"
#include "placement/plan.h"
#include "run/metered_run.h"

namespace evener::test {

struct OptionRow {
  std::string commands;  // that have the option: "train|plan"
  Words given;           // names and values by turns, of which the first option is the row's; a switch is "true"
  /// What it moves, as a place in JSON: of what the command's job is handed ("/rate", see what_a_job_is_handed()), of
  /// what a run leaves ("/run/files", see what_a_run_leaves()), "/error", or "test:SUITE.NAME", another test of this
  /// room that runs a command with the option.
  std::string place;
  /// What stands there then, and not without the option. A text that begins with ~ is a part of what stands there; of
  /// null only that it is something else.
  nlohmann::json expected = nullptr;
  Words with = {};  // given in both cases
};

std::vector<OptionRow> option_rows_of_training();
std::vector<OptionRow> option_rows_of_inference();
std::vector<OptionRow> option_rows_of_others();

/// What `evener COMMAND` hands to the part that does the work, in that part's units; without doing any work. Throws
/// UsageError as the command does, and std::logic_error for a command that has no such description.
nlohmann::json what_a_job_is_handed(const std::string& command, const Words& given);

nlohmann::json handed_by_training(const std::string& command, const Words& given);   // train, plan, sweep, matmul
nlohmann::json handed_by_inference(const std::string& command, const Words& given);  // and the other commands

/// Gives the options their words and checks them, as the command line does.
void give_all(const job::OptionSet& options, const Words& given);

/// The description of the run around the work, and of its energy.
nlohmann::json around_json(const run::RunOptions& options);
nlohmann::json plan_json(const placement::Plan& plan);
nlohmann::json data_json(const data::DataOptions& options);

}  // namespace evener::test
