#include "job/sweep/predictions.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/child.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/stop.h"
#include "job/sweep/measured_command.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestPlan = 10'000'000;

/// A folder for one file, which goes with it.
class PlanFile {
 public:
  PlanFile() {
    std::string name = (fs::temp_directory_path() / "evener-plan-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) fail_to_write(name, errno);
    folder_ = name;
  }
  ~PlanFile() {
    std::error_code none;
    fs::remove_all(folder_, none);
  }
  PlanFile(const PlanFile&) = delete;
  PlanFile& operator=(const PlanFile&) = delete;

  fs::path path() const { return folder_ / "plan.json"; }

 private:
  fs::path folder_;
};

/// What the words say behind "NAME=", or else the option's default.
std::string value_in_words(const record::SweepCell& cell, const OptionSet& options, const std::string& name) {
  const auto found = std::ranges::find_if(cell.words, [&](const auto& word) { return word.starts_with(name + "="); });
  return found == cell.words.end() ? options.find(name)->default_text() : found->substr(name.size() + 1);
}

/// Runs the plan. Returns its JSON; null where it failed, which is told.
nlohmann::json run_plan_child(const fs::path& program, std::vector<std::string> words,
                              const std::map<std::string, std::string>& environment, Observer& observer) {
  const PlanFile file;
  words.insert(words.end(), {"--quiet", "--json", file.path().string()});
  std::string last;
  ChildOptions options;
  options.environment = environment;
  options.on_stderr_line = [&](const std::string& line) { last = line; };
  const ChildEnd end = run_child(program, words, options);
  if (stop_requested()) throw Interrupted("the sweep was interrupted; the same command goes on with it");
  if (!end.good()) {
    observer.note("no prediction: " + (last.empty() ? end_text(end) : printable(last)));
    return nullptr;
  }
  return nlohmann::json::parse(read_file(file.path(), kLargestPlan), nullptr, false);
}

}  // namespace

std::vector<std::string> plan_words(const record::SweepCell& cell, const OptionSet& options) {
  std::vector<std::string> words = {"evener", "plan"};
  for (std::size_t n = 1; n < cell.words.size(); ++n) {
    const OptionBase* option = options.find(cell.words[n].substr(0, cell.words[n].find('=')));
    if (option == nullptr || (option->rules().in_plans && option->name() != "--on")) words.push_back(cell.words[n]);
  }
  return words;
}

void take_prediction(const nlohmann::json& plan, const OptionSet& options, record::SweepCell& cell) {
  const std::string on = value_in_words(cell, options, "--on");
  const double epochs = std::stod(value_in_words(cell, options, "--epochs"));
  for (const nlohmann::json& row : plan.value("placements", nlohmann::json::array())) {
    if (row.value("placement", "") != on || !row.contains("images_per_s")) continue;
    cell.predicted = record::CellPrediction{.images_per_s = row.value("images_per_s", 0.0),
                                            .run_s = row.value("epoch_s", 0.0) * epochs};
  }
}

void predict(record::SweepRecord& sweep, Observer& observer, const fs::path& program) {
  if (sweep.command != "train") throw UsageError("--predict: only trainings are planned, not '" + sweep.command + "'");
  const MeasuredCommand command = measured_command(sweep.command);
  using Work = std::pair<std::vector<std::string>, std::map<std::string, std::string>>;
  std::map<Work, std::vector<record::SweepCell*>> works;
  for (record::SweepCell& cell : sweep.cells) {
    if (!cell.predicted) works[{plan_words(cell, command.options), cell.environment}].push_back(&cell);
  }
  for (const auto& [work, cells] : works) {
    std::vector<std::string> placements;
    for (const record::SweepCell* cell : cells) {
      const std::string on = value_in_words(*cell, command.options, "--on");
      if (std::ranges::find(placements, on) == placements.end()) placements.push_back(on);
    }
    observer.note(fmt::format("planning {}", fmt::join(placements, ", ")));
    std::vector<std::string> words = work.first;
    words.push_back(fmt::format("--on={}", fmt::join(placements, ",")));
    const nlohmann::json plan = run_plan_child(program, words, work.second, observer);
    if (!plan.is_object()) continue;
    for (record::SweepCell* cell : cells) take_prediction(plan, command.options, *cell);
  }
}

}  // namespace evener::job
