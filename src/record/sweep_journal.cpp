// The journal of a sweep: a JSON object per line, for one event each.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "record/described_json.h"
#include "record/sweep_file.h"

namespace evener::record {

/// The ends of runs only: the beginning is an event of its own.
static Words<RunEnd> words_of(RunEnd) {
  return {
      run_end_name,
      {RunEnd::kDone, RunEnd::kInvalid, RunEnd::kFailed, RunEnd::kKilled, RunEnd::kOutOfMemory, RunEnd::kOutOfTime}};
}

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kJournalLimitBytes = std::uint64_t{256} << 20;

bool is_same(const SweepRun& a, const SweepRun& b) {
  return a.series == b.series && a.cell == b.cell && a.part == b.part && a.block == b.block;
}

void take_begin(SweepJournal& journal, SweepRun run) {
  std::erase_if(journal.runs, [&](const SweepRun& known) { return is_same(known, run); });  // it was interrupted
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

/// A line of the journal: the event, and its run or block.
struct JournalLine {
  std::string event;
  SweepRun run;
  SweepBlock block;
};

/// Two dots are allowed in a name: a cell's folder is called after its placement, as in "cpu-t1..cpu-t1-9b253f50".
bool is_inside(const std::string& folder) {
  const std::filesystem::path path(folder);
  return path.is_relative() && std::ranges::find(path, "..") == path.end();
}

template <typename Fields>
void describe(Fields& fields, Of<JournalLine> auto& line) {
  fields.value("event", line.event);
  auto& run = line.run;
  const bool is_begin = line.event == "begin", is_end = line.event == "end", is_again = line.event == "again";
  if (line.event == "block") {
    fields.value("series", line.block.series);
    fields.value("part", line.block.part);
    fields.value("block", line.block.block);
    fields.value("cells", line.block.cells);
    return;
  }
  fields.check("event", is_begin || is_end || is_again, "expected block, begin, end or again");
  fields.value("series", run.series);
  fields.value("cell", run.cell);
  if (is_again) return;
  fields.value("part", run.part);
  fields.value("block", run.block);
  fields.value("folder", run.folder);
  fields.check("folder", is_inside(run.folder), "expected a folder inside that of the sweep");
  if (is_begin) fields.value("at", run.began);
  if (!is_end) return;
  fields.value("status", run.end);
  fields.value("seconds", run.seconds);
  fields.value("figure", run.figure);
  fields.text("reason", run.reason);
}

void take_line(SweepJournal& journal, const std::string& text, const std::string& source) {
  const auto parsed = nlohmann::json::parse(text, nullptr, false);
  if (parsed.is_discarded()) throw Error(source + " is not JSON");
  JournalLine line;
  read_described(parsed, source, line);
  if (line.event == "block") {
    journal.blocks.push_back(std::move(line.block));
  } else if (line.event == "begin") {
    take_begin(journal, std::move(line.run));
  } else if (line.event == "end") {
    take_end(journal, std::move(line.run));
  } else {
    const SweepRun& which = line.run;
    std::erase_if(journal.runs, [&](const SweepRun& run) {
      return run.series == which.series && run.cell == which.cell && run.end != RunEnd::kDone;
    });
    // A repeated run isn't close in time to the runs of its old block, so the cell leaves these blocks.
    for (SweepBlock& block : journal.blocks) {
      if (block.series == which.series) std::erase(block.cells, which.cell);
    }
  }
}

std::string text_of(const JournalLine& line) {
  return json_text(described_json(line));
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
  // Ends an incomplete last line of a killed writer, so that the next event starts on a new line.
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
  append(text_of({"block", {}, block}));
}

void JournalWriter::begin(const SweepRun& run) {
  append(text_of({"begin", run, {}}));
}

void JournalWriter::end(const SweepRun& run) {
  append(text_of({"end", run, {}}));
}

void JournalWriter::again(int series, const std::string& cell) {
  JournalLine line{"again", {}, {}};
  line.run.series = series;
  line.run.cell = cell;
  append(text_of(line));
}

}  // namespace evener::record
