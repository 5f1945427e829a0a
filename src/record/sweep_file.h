// The files of a sweep's folder: sweep.json, schema "evener-sweep-1", which says what was asked for, and journal.jsonl,
// a line for each thing that happened, which is the state of the sweep. bench/sweep writes them, report/ reads them.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace evener::record {

constexpr const char* kSweepSchema = "evener-sweep-1";
inline constexpr const char* kSweepFile = "sweep.json";
inline constexpr const char* kJournalFile = "journal.jsonl";
inline constexpr const char* kReferenceFile = "reference.csv";  // figures that were measured elsewhere

/// An option (or, with a $ before its name, an environment variable) with several values; or several of them that go
/// together.
struct SweepAxis {
  std::vector<std::string> names;               // "on"; "$OMP_WAIT_POLICY"
  std::vector<std::vector<std::string>> steps;  // each with a value for each name
};

/// Of a cell before it has run, by `evener plan`.
struct CellPrediction {
  double images_per_s = 0, run_s = 0;  // run_s: training and validation
};

struct SweepCell {
  std::string key;                                 // of its words, environment and data: the same cell has the same
  std::string folder;                              // of its runs, in that of the sweep
  std::map<std::string, std::string> values;       // by the names of all axes
  std::vector<std::string> words;                  // "train", "resnet34", "--on=cpu/t1", ...; without --out
  std::map<std::string, std::string> environment;  // that is set for it
  std::string data;                                // what identifies the files that it reads; "" = none
  std::optional<CellPrediction> predicted = {};
};

/// Runs of one program on one machine, which may be compared. A program that was rebuilt begins another series.
struct SweepSeries {
  int number = 1;
  std::string started;  // UTC
  std::string program, machine;
};

/// The parts that a sweep consists of, in their order.
inline constexpr const char* kWarmupPart = "warm-up";
inline constexpr const char* kMeasurePart = "measure";
inline constexpr const char* kEnergyPart = "energy";

struct SweepRecord {
  std::string title, command;  // "train"
  std::string started, version;
  std::vector<std::string> words;  // argv
  std::vector<SweepAxis> axes;
  std::vector<SweepCell> cells;
  int repeats = 5, warmup = 0, energy_repeats = 0;
  std::optional<double> until_width;  // 0.02: more runs until the mean speed is known to +-2 %; absent: no more
  int max_runs = 30;                  // of a cell, with until_width
  std::uint64_t order_seed = 1;
  std::string setup, prepare, cleanup, cool_down;  // "" = none
  std::optional<double> run_limit_s, time_limit_s;
  std::vector<SweepSeries> series;
  int series_now = 1;

  /// The runs whose spread says how many there are; 0 where that was fixed. See record/repeats.h.
  std::size_t first_stage() const { return until_width ? static_cast<std::size_t>(repeats) : 0; }
};

/// Of the record, in a sentence: how many runs of a cell there are, and why.
std::string stopping_rule_text(const SweepRecord& sweep);

void write_sweep(const std::filesystem::path& folder, const SweepRecord& sweep);
/// Throws Error naming the file and the key.
SweepRecord read_sweep(const std::filesystem::path& folder);

/// How a run ended. kBegun: it didn't, as far as the journal knows.
enum class RunEnd { kBegun, kDone, kInvalid, kFailed, kKilled, kOutOfMemory, kOutOfTime };
/// "begun", "done", "invalid", "failed", "killed", "out of memory", "out of time".
const char* run_end_name(RunEnd end);
/// Whether it left figures.
bool has_figures(RunEnd end);

struct SweepRun {
  int series = 1;
  std::string cell;  // its key
  std::string part = kMeasurePart;
  int block = 1;
  std::string folder;  // in that of the sweep
  std::string began;   // UTC
  RunEnd end = RunEnd::kBegun;
  std::string reason;             // why it is not done
  std::optional<double> seconds;  // of the process
  std::optional<double> figure;   // its speed, which a stopping rule looks at
};

/// A block: the cells that it runs, in their order.
struct SweepBlock {
  int series = 1;
  std::string part = kMeasurePart;
  int block = 1;
  std::vector<std::string> cells;  // keys
};

struct SweepJournal {
  std::vector<SweepRun> runs;         // in the order in which they began; without those that are to be repeated
  std::vector<SweepBlock> blocks;     // in their order
  std::vector<std::string> warnings;  // lines that can't be read
};

/// A missing file is an empty journal. A last line without its end was being written when the writer was killed: it is
/// left out. Throws Error if the file can't be read.
SweepJournal read_journal(const std::filesystem::path& folder);

/// Appends lines that are on the disk when a call returns. Throws OutputError.
class JournalWriter {
 public:
  explicit JournalWriter(const std::filesystem::path& folder);

  void block(const SweepBlock& block);
  void begin(const SweepRun& run);
  void end(const SweepRun& run);
  /// The cell's runs of this series that are not good are forgotten: they are made again.
  void again(int series, const std::string& cell);

 private:
  void append(const std::string& line);

  std::filesystem::path path_;
  Descriptor file_;
};

}  // namespace evener::record
