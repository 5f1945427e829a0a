// The files of a sweep's folder: sweep.json, schema "evener-sweep-1", the definition of the sweep, and journal.jsonl,
// its state, with a line for each event. bench/sweep writes them, report/ reads them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace evener::record {

struct MachineRecord;

constexpr const char* kSweepSchema = "evener-sweep-1";
inline constexpr const char* kSweepFile = "sweep.json";
inline constexpr const char* kJournalFile = "journal.jsonl";
inline constexpr const char* kPilotFolder = "pilot";            // runs that count for nothing but the others' length
inline constexpr const char* kReferenceFile = "reference.csv";  // figures measured elsewhere

/// An axis of a sweep: an option (or, with a $ before its name, an environment variable) with several values, or
/// several of these that change together.
struct SweepAxis {
  std::vector<std::string> names;               // "on"; "$OMP_WAIT_POLICY"
  std::vector<std::vector<std::string>> steps;  // each has a value for each name
};

/// The prediction of `evener plan` for a cell.
struct CellPrediction {
  double images_per_s = 0, run_s = 0;  // run_s: training and validation
};

struct SweepCell {
  std::string key;                                 // hash of its words, environment and data
  std::string folder;                              // of its runs, relative to the sweep's folder
  std::map<std::string, std::string> values;       // by names of axes
  std::vector<std::string> words;                  // "train", "resnet34", "--on=cpu/t1", ...; without --out
  std::map<std::string, std::string> environment;  // variables set for its runs
  std::string data;                                // data_identity() of the files that it reads; "" = none
  std::optional<CellPrediction> predicted = {};
};

/// Whether two amounts of memory are of the same machine: what the kernel, a graphics card or a virtual machine's host
/// keeps for itself differs from start to start. Unknown ones (0) are of any.
bool is_same_memory(std::uint64_t a_bytes, std::uint64_t b_bytes);
/// The rule for what makes two machines: another processor, other cores or quota, or another memory.
bool is_same_machine(const MachineRecord& a, const MachineRecord& b);

/// A series: runs by the same program on the same machine, which may be compared. A rebuilt program begins a new
/// series.
struct SweepSeries {
  int number = 1;
  std::string started;  // UTC
  std::string program, machine;
};

/// The parts of a sweep, in order.
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
  std::optional<double> until_width;       // 0.02: repeat until the mean speed is known to +-2 %; absent: fixed repeats
  int max_runs = 30;                       // limit per cell with until_width
  std::optional<double> steady_deviation;  // 0.02: pilot runs found how long runs measure; absent: as asked for
  std::string steady;                      // a sentence on what they found; "" = none
  std::uint64_t order_seed = 1;
  std::string setup, prepare, cleanup, cool_down;  // "" = none
  std::optional<double> run_limit_s, time_limit_s;
  std::vector<SweepSeries> series;
  int series_now = 1;

  /// The number of first runs whose spread decides the number of runs; 0 if that is fixed. See record/repeats.h.
  std::size_t first_stage() const { return until_width ? static_cast<std::size_t>(repeats) : 0; }
};

/// A sentence for the report: how many runs each cell gets, and why.
std::string stopping_rule_text(const SweepRecord& sweep);

void write_sweep(const std::filesystem::path& folder, const SweepRecord& sweep);
/// Throws Error naming the file and the key.
SweepRecord read_sweep(const std::filesystem::path& folder);

/// How a run ended. kBegun: the journal has no end of it.
enum class RunEnd { kBegun, kDone, kInvalid, kFailed, kKilled, kOutOfMemory, kOutOfTime };
const char* run_end_name(RunEnd end);
/// Whether a run with this end has figures.
bool has_figures(RunEnd end);

struct SweepRun {
  int series = 1;
  std::string cell;  // its key
  std::string part = kMeasurePart;
  int block = 1;
  std::string folder;  // relative to the sweep's folder
  std::string began;   // UTC
  RunEnd end = RunEnd::kBegun;
  std::string reason;             // why `end` is not kDone
  std::optional<double> seconds;  // duration of the process
  std::optional<double> figure;   // its speed, used by the stopping rule
};

/// A block: cells that are run once each, in this order.
struct SweepBlock {
  int series = 1;
  std::string part = kMeasurePart;
  int block = 1;
  std::vector<std::string> cells;  // keys
};

struct SweepJournal {
  std::vector<SweepRun> runs;         // in the order of their starts; without runs to be repeated
  std::vector<SweepBlock> blocks;     // in order
  std::vector<std::string> warnings;  // about lines that can't be read
};

/// Reads the journal; a missing file is an empty journal. Ignores an incomplete last line, left by a killed writer.
/// Throws Error if the file can't be read.
SweepJournal read_journal(const std::filesystem::path& folder);

/// Appends lines to the journal; each is on disk when the call returns. Throws OutputError.
class JournalWriter {
 public:
  explicit JournalWriter(const std::filesystem::path& folder);

  void block(const SweepBlock& block);
  void begin(const SweepRun& run);
  void end(const SweepRun& run);
  /// Declares the cell's runs of this series that are not kDone void, so that they are made again.
  void again(int series, const std::string& cell);

 private:
  void append(const std::string& line);

  std::filesystem::path path_;
  Descriptor file_;
};

}  // namespace evener::record
