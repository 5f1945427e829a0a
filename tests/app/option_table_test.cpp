// Every option of every command moves what its command's job is handed, what a run leaves, or an error: by one table,
// which the program's own description of its options is held against.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "app/option_rows_helpers.h"
#include "app/program.h"
#include "base/built_modules.h"
#include "base/files.h"
#include "record/record.h"
#include "support/in_process_helpers.h"
#include "support/trained_once_helpers.h"

namespace evener::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string words_text(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// The pairs of `pairs`, and those of `usual` whose names are not among them.
Words with_usual(const Words& usual, const Words& pairs) {
  Words all;
  for (std::size_t i = 0; i + 1 < usual.size(); i += 2) {
    bool is_given = false;
    for (std::size_t k = 0; k < pairs.size(); k += 2) is_given = is_given || pairs[k] == usual[i];
    if (!is_given) all.insert(all.end(), {usual[i], usual[i + 1]});
  }
  return joined(std::move(all), pairs);
}

/// With {} for the folder.
std::string placed(std::string word, const fs::path& folder) {
  const std::size_t at = word.find("{}");
  return at == std::string::npos ? word : word.replace(at, 2, folder.string());
}

/// As a command line has them: options first, which is what a sweep demands.
Words command_line_of(const std::string& command, const Words& pairs, const fs::path& folder) {
  Words words, positionals;
  const std::size_t blank = command.find(' ');
  words.push_back(command.substr(0, blank));
  if (blank != std::string::npos) words.push_back(command.substr(blank + 1));
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const std::string value = placed(pairs[i + 1], folder);
    if (!pairs[i].starts_with('-')) {
      positionals.push_back(value);
    } else if (value == "true") {
      words.push_back(pairs[i]);
    } else if (value != "false") {
      words.push_back(pairs[i] + "=" + value);
    }
  }
  return joined(std::move(words), positionals);
}

json files_below(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    names.insert(entry.path().lexically_relative(folder).string());
  }
  return names;
}

/// Runs the command in this process. What a run reads is there before: "run", a training's folder; "other", a folder
/// with a record; "blank.pgm"; "old.safetensors".
json what_a_run_leaves(const std::string& command, const Words& given) {
  const TemporaryFolder folder;
  const fs::path root = folder.path();
  const CommandWords of = words_of(command);
  const Words all = with_usual(with_usual(of.least, of.of_run), given);
  const std::string text = words_text(all);
  if (text.find("{}/run") != std::string::npos || text.find("{}/other") != std::string::npos) {
    trained_once("option-table",
                 {"train", "mlp:784-4-10", "--data", "synth:digits:100", "--on", "cpu/t1", "--engine", "native",
                  "--epochs", "1"},
                 root / "run");
    record::Record record;
    record.model.name = "resnet34";
    record.placement.text = "cpu/t1";
    record.images_per_s = record::throughput_of(std::vector<double>(12, 10), "steps");
    fs::create_directories(root / "other");
    record::write_record(root / "other", record);
  }
  std::ofstream(root / "blank.pgm", std::ios::binary) << "P5\n28 28\n255\n" << std::string(784, '\x50');
  std::ofstream(root / "old.safetensors") << "old";
  const Words words = command_line_of(command, all, root);
  const ProgramResult result =
      run_in_process(words, {.environment = {{"XDG_CACHE_HOME", (root / "cache").string()}}, .cwd = root});
  json left = {{"exit", result.exit_code}, {"out", result.out}, {"err", result.err}, {"files", files_below(root)}};
  if (fs::exists(root / "out/record.json")) {
    left["record"] = record_in(root / "out");
    for (const auto& [name, metric] : left["record"]["metrics"].items()) {
      if (!metric["value"].is_null()) left["metrics"].push_back(name);
    }
  }
  if (fs::exists(root / "out/predictions.csv")) {
    left["predictions"] = read_file(root / "out/predictions.csv");
    left["prediction_rows"] = std::ranges::count(left["predictions"].get_ref<const std::string&>(), '\n') - 1;
  }
  return {{"run", left}};
}

/// The same words of the same command are run once.
const json& seen(const std::string& command, bool runs, const Words& given) {
  static std::map<std::string, json> known;
  const std::string key = command + (runs ? " runs " : " is handed ") + words_text(given);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  json told;
  try {
    const CommandWords of = words_of(command);
    if (!runs && of.handed == nullptr) throw std::logic_error("nobody tells what '" + command + "' is handed");
    told = runs ? what_a_run_leaves(command, given) : of.handed(with_usual(of.least, given));
  } catch (const std::exception& error) {
    told = {{"error", error.what()}};
  }
  return known[key] = std::move(told);
}

json at(const json& told, const std::string& place) {
  const json::json_pointer pointer(place);
  return told.contains(pointer) ? told.at(pointer) : json("nothing");
}

/// `expected` is the value, or begins with ~ and is a part of it as a text.
bool holds(const json& value, const json& expected) {
  if (!expected.is_string() || !expected.get_ref<const std::string&>().starts_with('~')) return value == expected;
  const std::string part = expected.get<std::string>().substr(1);
  if (value.is_string()) return value.get_ref<const std::string&>().find(part) != std::string::npos;
  return std::ranges::any_of(value, [&](const json& one) { return one.is_string() && holds(one, expected); });
}

/// The test of any room, where the file that it stands in gives the option.
void expect_test(const std::string& name, const std::string& option) {
  const std::size_t point = name.find('.');
  const std::string place = "(" + name.substr(0, point) + ", " + name.substr(point + 1) + ")";
  for (const auto& file : fs::recursive_directory_iterator(source_folder() / "tests")) {
    if (!file.path().string().ends_with("_test.cpp")) continue;
    const std::string text = read_file(file.path());
    if (text.find(place) == std::string::npos) continue;
    if (option.starts_with('-')) {
      EXPECT_THAT(text, testing::HasSubstr("\"" + option)) << name;
    }
    return;
  }
  ADD_FAILURE() << "there is no test " << name << ", which is to see " << option;
}

void expect_row(const OptionRow& row, const std::string& command) {
  const std::string& option = row.given.front();
  SCOPED_TRACE(command + ": " + words_text(row.given) + " moves " + row.place);
  if (row.place.starts_with("test:")) return expect_test(row.place.substr(5), option);
  const bool runs = row.place.starts_with("/run/");
  const json with = at(seen(command, runs, joined(row.with, row.given)), row.place);
  const json without = at(seen(command, runs, row.with), row.place);
  if (row.expected.is_null()) {
    EXPECT_NE(with, without);
    return;
  }
  EXPECT_TRUE(holds(with, row.expected)) << "it is " << with.dump().substr(0, 2000) << "\n and not "
                                         << row.expected.dump() << "\n"
                                         << seen(command, runs, joined(row.with, row.given)).dump().substr(0, 500);
  EXPECT_FALSE(holds(without, row.expected)) << "and so it is without the option: " << without.dump().substr(0, 2000);
}

bool is_of(const OptionRow& row, const std::string& command) {
  return ("|" + row.commands + "|").find("|" + command + "|") != std::string::npos;
}

/// Calls work(command, option) for all that the program tells of.
template <class Work>
void for_each_option(const Command& of, const std::string& path, const Work& work) {
  for (const Command& command : of.commands) {
    const std::string name = path.empty() ? command.name : path + " " + command.name;
    for (const OptionBase* option : command.options.options()) {
      if (!option->rules().hidden) work(name, *option);
    }
    for_each_option(command, name, work);
  }
}

TEST(OptionTable, HasARowForEveryOptionOfEveryCommand) {
  int options = 0;
  std::set<std::string> known;
  for_each_option(app::all_commands(), "", [&](const std::string& command, const OptionBase& option) {
    ++options;
    known.insert(command + " " + option.name());
    const bool has_row = std::ranges::any_of(all_option_rows(), [&](const OptionRow& row) {
      return is_of(row, command) && row.given.front() == option.name();
    });
    EXPECT_TRUE(has_row) << "no row says what 'evener " << command << " " << option.name()
                         << "' does: option_rows_helpers.cpp of its room in tests/";
  });
  EXPECT_GT(options, 390);
  for (const OptionRow& row : all_option_rows()) {
    for (std::size_t from = 0; from < row.commands.size();) {
      const std::size_t to = std::min(row.commands.find('|', from), row.commands.size());
      const std::string command = row.commands.substr(from, to - from);
      EXPECT_TRUE(known.contains(command + " " + row.given.front())) << command << " has no " << row.given.front();
      from = to + 1;
    }
  }
}

std::set<std::string> commands_with_rows() {
  std::set<std::string> commands;
  for_each_option(app::all_commands(), "",
                  [&](const std::string& command, const OptionBase& /*option*/) { commands.insert(command); });
  return commands;
}

class OptionRows : public testing::TestWithParam<std::string> {};

TEST_P(OptionRows, MoveWhatTheySay) {
  const std::string command = GetParam();
  if (command == "infer" && !module_is_built("torch")) GTEST_SKIP() << "the torch engine is not built";
  int rows = 0;
  for (const OptionRow& row : all_option_rows()) {
    if (!is_of(row, command)) continue;
    expect_row(row, command);
    ++rows;
  }
  EXPECT_GT(rows, 0);
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Of, OptionRows, testing::ValuesIn(commands_with_rows()), name_of);

}  // namespace
}  // namespace evener::test
