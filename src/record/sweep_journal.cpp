// The journal of a sweep: lines of JSON, each of which says one thing.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/output_error.h"
#include "record/json_reader.h"
#include "record/sweep_file.h"

namespace evener::record {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kJournalLimitBytes = std::uint64_t{256} << 20;

RunEnd run_end_of(const JsonReader& json) {
  std::string name;
  json.read("status", name);
  for (const RunEnd end :
       {RunEnd::kDone, RunEnd::kInvalid, RunEnd::kFailed, RunEnd::kKilled, RunEnd::kOutOfMemory, RunEnd::kOutOfTime}) {
    if (name == run_end_name(end)) return end;
  }
  json.fail("status", "expected how the run ended");
}

SweepRun read_run(const JsonReader& json) {
  SweepRun run;
  json.read("series", run.series);
  json.read("cell", run.cell);
  json.read("part", run.part);
  json.read("block", run.block);
  json.read("folder", run.folder);
  json.read("at", run.began);
  json.read("reason", run.reason);
  json.read("seconds", run.seconds);
  json.read("figure", run.figure);
  if (run.folder.find("..") != std::string::npos || run.folder.starts_with("/")) {
    json.fail("folder", "expected a folder inside that of the sweep");
  }
  return run;
}

bool is_same(const SweepRun& a, const SweepRun& b) {
  return a.series == b.series && a.cell == b.cell && a.part == b.part && a.block == b.block;
}

void take_begin(SweepJournal& journal, SweepRun run) {
  std::erase_if(journal.runs, [&](const SweepRun& known) { return is_same(known, run); });  // it was cut short
  journal.runs.push_back(std::move(run));
}

void take_end(SweepJournal& journal, SweepRun run) {
  const auto begun = std::ranges::find_if(journal.runs, [&](const SweepRun& known) { return is_same(known, run); });
  if (begun == journal.runs.end()) {
    journal.runs.push_back(std::move(run));
  } else {
    if (run.began.empty()) run.began = begun->began;
    *begun = std::move(run);
  }
}

void take_line(SweepJournal& journal, const std::string& line, const std::string& source) {
  const auto parsed = nlohmann::json::parse(line, nullptr, false);
  if (parsed.is_discarded()) throw Error(source + " is not JSON");
  const JsonReader json(parsed, source);
  std::string event;
  json.read("event", event);
  if (event == "block") {
    SweepBlock& block = journal.blocks.emplace_back();
    json.read("series", block.series);
    json.read("part", block.part);
    json.read("block", block.block);
    json.read("cells", block.cells);
  } else if (event == "begin") {
    take_begin(journal, read_run(json));
  } else if (event == "end") {
    SweepRun run = read_run(json);
    run.end = run_end_of(json);
    run.began.clear();  // its "at" is the end's
    take_end(journal, std::move(run));
  } else if (event == "again") {
    const SweepRun which = read_run(json);
    std::erase_if(journal.runs, [&](const SweepRun& run) {
      return run.series == which.series && run.cell == which.cell && run.end != RunEnd::kDone;
    });
    // What comes later is not made side by side with the runs of these blocks.
    for (SweepBlock& block : journal.blocks) {
      if (block.series == which.series) std::erase(block.cells, which.cell);
    }
  } else {
    json.fail("event", "expected block, begin, end or again");
  }
}

Json run_json(const char* event, const SweepRun& run) {
  return {{"event", event},   {"series", run.series}, {"cell", run.cell},
          {"part", run.part}, {"block", run.block},   {"folder", run.folder}};
}

}  // namespace

SweepJournal read_journal(const fs::path& folder) {
  SweepJournal journal;
  const fs::path path = folder / kJournalFile;
  std::error_code none;
  if (!fs::exists(path, none)) return journal;
  const std::string text = read_file(path, kJournalLimitBytes);
  std::size_t begin = 0;
  for (int number = 1; begin < text.size(); ++number) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.empty()) continue;
    try {
      take_line(journal, line, fmt::format("{}, line {}", path.string(), number));
    } catch (const Error& error) {
      journal.warnings.push_back(fmt::format("{}; the line is left out", error.what()));
    }
  }
  return journal;
}

JournalWriter::JournalWriter(const fs::path& folder) : path_(folder / kJournalFile) {
  file_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file_.valid()) fail_to_write(path_, errno);
  // A line that was cut short when its writer was killed gets its end, so that the next one stands alone.
  const off_t size = ::lseek(file_.get(), 0, SEEK_END);
  char last = '\n';
  if (size > 0 && ::pread(file_.get(), &last, 1, size - 1) == 1 && last != '\n') append("");
}

void JournalWriter::append(const std::string& line) {
  const std::string text = line + "\n";
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(file_.get(), text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_to_write(path_, errno);
    written += static_cast<std::size_t>(count);
  }
  if (::fsync(file_.get()) != 0 && errno != EINVAL) fail_to_write(path_, errno);
}

void JournalWriter::block(const SweepBlock& block) {
  append(Json{{"event", "block"},
              {"series", block.series},
              {"part", block.part},
              {"block", block.block},
              {"cells", block.cells}}
             .dump());
}

void JournalWriter::begin(const SweepRun& run) {
  Json json = run_json("begin", run);
  json["at"] = run.began;
  append(json.dump());
}

void JournalWriter::end(const SweepRun& run) {
  Json json = run_json("end", run);
  json["status"] = run_end_name(run.end);
  json["seconds"] = run.seconds ? Json(*run.seconds) : Json(nullptr);
  json["figure"] = run.figure ? Json(*run.figure) : Json(nullptr);
  json["reason"] = run.reason.empty() ? Json(nullptr) : Json(run.reason);
  append(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void JournalWriter::again(int series, const std::string& cell) {
  append(Json{{"event", "again"}, {"series", series}, {"cell", cell}}.dump());
}

}  // namespace evener::record
