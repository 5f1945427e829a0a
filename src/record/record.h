// The record of a run: record.json and epochs.csv, schema "evener-record-1". It has a part that
// is common to all tasks, and a part for each task that has keys of its own.
// A missing value is absent here and null in the file, with a reason; never 0, never a guess.
// record_fields.h names the keys of all these members: a new member needs a line there, and nothing else.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/energy.h"
#include "record/metric.h"
#include "record/statistics.h"

namespace evener::record {

constexpr const char* kRecordSchema = "evener-record-1";

/// How a run, or one session of it, ended. kKilled is never in the file of a run that was killed, which couldn't write
/// it: whoever finds that a "running" one has no process any more calls it so.
enum class Status { kDone, kInterrupted, kDiverged, kFailed, kRunning, kKilled };
/// "done", "interrupted", "diverged", "failed", "running", "killed".
const char* status_name(Status status);

/// What a machine is, and what was going on at the start; no host name. Absent values are unknown on this machine (no
/// governor in a container, say).
struct MachineRecord {
  std::string cpu;  // model as the kernel names it
  int packages = 0;
  int cores = 0;                          // physical cores this process may use
  int logical_cpus = 0;                   // logical CPUs this process may use
  int online_cpus = 0;                    // logical CPUs of the whole machine
  std::optional<double> quota_cpus;       // cgroup quota, where there is one
  std::optional<std::string> cpu_kinds;   // "8 cores IntelCore (16 CPUs), 8 cores IntelAtom (8 CPUs)"; absent: alike
  std::vector<std::string> cpu_features;  // avx512_bf16 and the like
  std::uint64_t memory_bytes = 0;
  std::string os;                             // "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;                         // "Linux 6.1.0-18-amd64 x86_64"
  std::optional<std::string> governor;        // cpufreq governor; several joined by '/'
  std::optional<double> load_1min;            // load average when read
  std::optional<std::string> virtualization;  // "kvm", "container", ...; absent = none seen
};

struct StageRecord {
  std::string device;                    // "cpu", "cuda:0"
  std::optional<int> threads;            // CPU stages only
  std::vector<int> cpus;                 // logical CPUs it was pinned to; empty = not pinned
  std::optional<double> emulated_speed;  // the F of "@F"
  // Of one stage of several: what it was predicted to take of memory, and what its process came to take at most.
  std::optional<std::int64_t> predicted_memory_bytes = {}, memory_bytes = {};
  std::optional<double> busy_share = {};  // of the time in which a divided network answered
  std::string uuid = {};                  // of a GPU, where its driver told it
};
struct ReplicaRecord {
  std::vector<StageRecord> stages;
  std::optional<double> share = {};          // of the samples trained on
  std::optional<std::int64_t> samples = {};  // that it trained on
  std::optional<double> busy_s = {};         // that it read and computed, without waiting for others
  std::string host = {};                     // its name, where there are several
};
/// How batches were divided from a step on (0: the first one that this process did).
struct DivisionRecord {
  std::int64_t step = 0;
  std::vector<std::int64_t> samples;  // of each replica
};
struct PlacementRecord {
  std::string text;  // as it was given: "cpu/t2"
  std::vector<ReplicaRecord> replicas;
  std::vector<DivisionRecord> divisions = {};  // of whole batches; empty with a single replica
};

struct ModelRecord {
  std::string name;                           // "resnet34"
  std::optional<std::int64_t> parameters;     // trained values
  std::optional<std::int64_t> forward_flops;  // per sample; multiply and add count as two
  std::optional<std::int64_t> train_flops;    // per sample, forward and backward
};

struct DataRecord {
  std::string location;  // "synth:masks", a folder
  std::optional<std::int64_t> images;
  std::vector<std::string> classes;
  std::vector<std::int64_t> shape;               // (C, H, W) as the network sees it
  std::optional<std::int64_t> train, val, test;  // images of each part
  std::int64_t skipped = 0;                      // unusable files left out
};

/// One rule that a valid measurement keeps and this one doesn't.
struct ValidityReason {
  std::string rule;    // "other load", "swap", ...
  std::string what;    // what was seen, with the values
  std::string advice;  // what to do
};
struct Validity {
  std::optional<bool> valid;  // absent: not judged
  std::vector<ValidityReason> reasons;
};

/// Seconds; parts of `total` that don't overlap.
struct Times {
  std::optional<double> total, init, load, train, validate, test;
  std::optional<double> to_accuracy;      // training and validation until --until-accuracy was reached
  std::optional<double> first_step;       // from the start until the first step was done; lies within the others
  std::optional<double> checkpoint = {};  // writing checkpoints
};

/// An epoch of a training: what its steps came to and, where it was validated, what was found.
struct EpochRecord {
  int epoch = 0;                  // from 1
  std::optional<double> seconds;  // of the training steps alone
  std::optional<double> validate_seconds;
  std::optional<double> images_per_s;    // training images / seconds
  std::optional<double> lr;              // of the last step
  std::optional<double> train_loss;      // running, as the weights changed
  std::optional<double> train_accuracy;  // in 0..1; absent of a detector
  std::optional<double> val_loss, val_accuracy;
  bool best = false;                             // the best validation so far
  bool head_only = false;                        // the last layer was fitted on features that didn't change; no steps
  double share = 1;                              // of its steps that were done: less where time was up
  std::map<std::string, double> figures;         // what else is known, by name: "val_map_50"; may be empty
  std::map<std::string, double> phases_s;        // of this epoch, critical thread; empty = not recorded
  std::optional<double> from_s = {}, to_s = {};  // of its session: training, validation and saving
  std::optional<double> joules = {};             // within that
};

/// Fills images_per_s from seconds, of an epoch that passes over so many training images.
void set_speed(EpochRecord& epoch, std::size_t train_images);

/// Shares in 0..1.
struct Accuracy {
  std::optional<double> train;  // of the last epoch
  std::optional<double> val;    // the best epoch's
  std::optional<std::int64_t> val_epoch;
  std::optional<double> test;
  std::string test_weights;                   // "best", "last" or "given": which weights were tested
  std::optional<double> val_loss, test_loss;  // means over the images of what `val` and `test` are of
};

/// Which classes were taken for which, by the weights that were tested.
struct ConfusionRecord {
  std::string part;                               // "test", "validation", ...: the images that were counted
  std::vector<std::vector<std::int64_t>> counts;  // [true class][found class]; empty = not counted

  bool empty() const { return counts.empty(); }
};

/// What only a training has.
struct TrainingRecord {
  std::vector<EpochRecord> epochs;
  Accuracy accuracy;
};

/// A rate of queries that was tried, and what became of their latency.
struct RateTrial {
  double rate = 0;  // queries per second
  std::int64_t queries = 0;
  std::optional<double> seconds;
  std::optional<double> latency_s;  // at the percentile that the scenario is about
  std::optional<double> latency_p50_s;
  bool held = false;  // the limit of latency
};

/// In which scenario a system was measured that answers queries (bench/).
struct ScenarioRecord {
  std::string name;                  // "server"; empty: in none
  std::optional<double> percentile;  // of latency, that it is about
  std::optional<double> latency_limit_s;
  std::optional<double> seconds;  // of the run that counts
  std::int64_t queries = 0, samples = 0;
  std::int64_t late = 0;                  // queries beyond the limit
  std::optional<std::int64_t> discarded;  // slowest queries that the estimate of the percentile leaves out
  std::optional<std::int64_t> lanes, largest_batch, samples_per_query;
  std::map<std::string, double> parts_s;  // what a query's latency went into, on average: "queue", "compute", ...
  std::vector<RateTrial> rates;           // in the order in which they were tried

  bool empty() const { return name.empty(); }
};

/// What a layer took, or several that were computed as one, in a pass of its own (--profile layers). Absent is what is
/// not known: operations and bytes of layers in a foreign file, peaks of a device that nobody measured.
struct LayerRecord {
  std::string name;                   // of the first; empty: work that belongs to no layer
  std::string what;                   // "Conv2d"
  std::vector<std::string> joined;    // the others that were computed with it
  std::optional<double> forward_s;    // of one call or step, the median of several
  std::optional<double> backward_s;   // of a training step
  std::optional<std::int64_t> flops;  // in that time; multiply and add count as two
  std::optional<std::int64_t> bytes;  // that have to be read and written at least
  /// The time in which the processor could do that at its peaks of multiply-adds and of memory, over the time it took.
  std::optional<double> roofline;
};

struct RankMemory {
  int rank = 0;
  std::optional<std::uint64_t> peak_rss_bytes;
};
struct Memory {
  std::optional<std::uint64_t> peak_rss_bytes;  // sum over ranks where there are several
  std::optional<Spread> rss_bytes, pss_bytes;
  std::optional<std::uint64_t> swap_bytes_max;
  std::vector<RankMemory> ranks;
};

/// Percent are of one logical CPU.
struct CpuUse {
  std::optional<double> seconds;  // user + system
  std::optional<Spread> percent;
  std::vector<double> core_percent_mean;
  std::optional<Spread> others_percent;
  std::optional<double> steal_percent_mean;
  std::optional<std::int64_t> throttle_events;
  std::int64_t samples = 0;
};

struct GpuUse {
  int index = 0;
  std::string name;
  std::optional<double> utilisation_percent_mean;
  std::optional<std::uint64_t> peak_memory_bytes;  // held by this program
  std::optional<double> joules;
  std::map<std::string, double> step_phases_s;  // of one step by the GPU's clock, medians; empty = not timed
  std::optional<double> throttled_share = {};   // of the samples, in 0..1
  std::string throttle_reasons = {};            // "power cap, heat"
  std::optional<Spread> temperature_c = {}, clock_mhz = {};
  std::string uuid = {};  // where its driver told it
};

/// One stretch of work on a run. A run that was resumed, or started again after it lost a replica, has several.
struct SessionRecord {
  std::string started;                // UTC
  std::vector<std::string> command;   // argv
  Status status = Status::kRunning;   // how it ended
  std::string placement;              // where it computed
  std::int64_t replicas = 0;          // on so many of the placement's replicas
  std::string engine;                 // and with what
  std::string cpu;                    // the machine's processor
  std::optional<double> seconds;      // from its start to its end
  std::optional<double> cpu_seconds;  // of the processor, user + system
  std::int64_t epochs = 0;            // that it completed
  std::int64_t images = 0;            // that it trained on
};

struct Record {
  std::string kind = "train";  // the task's name; record_kind.h has its words
  Status status = Status::kDone;
  std::string started;                        // UTC, "2026-11-21T10:15:00Z"; of the first session
  std::vector<std::string> command;           // argv of the first session
  std::vector<SessionRecord> sessions;        // all, in their order; times and the like are sums over them
  std::map<std::string, std::string> config;  // every option's value that was used, as JSON: {"lr", "0.1"}
  /// The words that were given for each option, so that --resume can give them again: {"split", {"70/10/20"}}.
  std::map<std::string, std::vector<std::string>> options;
  std::map<std::string, std::uint64_t> seeds;  // {"seed": 1} or one per dimension
  MachineRecord machine;
  std::map<std::string, std::string> versions;
  ModelRecord model;
  DataRecord data;
  PlacementRecord placement;
  std::string engine;                  // "torch"
  std::string precision;               // "fp32"
  std::optional<std::int64_t> batch;   // global batch
  std::vector<std::string> fallbacks;  // what was done otherwise than asked for, each with its reason
  std::vector<std::string> notes;      // e.g. what changes what is learnt
  std::vector<std::string> warnings;   // what is wrong with what was learnt, or learnt from, and what to do
  Validity validity;
  Times times;
  std::map<std::string, double> phases_s;  // exclusive, critical thread of rank 0
  std::map<std::string, double> hidden_s;  // other threads, behind that
  Throughput images_per_s;
  TrainingRecord training;    // its keys are there where kind is "train"
  ConfusionRecord confusion;  // of whatever names classes
  ScenarioRecord scenario;
  std::vector<LayerRecord> layers;        // in the order in which they are computed; empty: not asked for
  std::map<std::string, Metric> metrics;  // by name: figures without a key of their own; see add_metric()
  Memory memory;
  CpuUse cpu;
  std::vector<GpuUse> gpus;
  Energy energy;
  /// By host, as each told it; they become part of `energy` when the first host's is known.
  std::vector<Energy> host_energies;
  /// Why values are null: path -> reason, e.g. {"accuracy.test", "the data has no test part"}.
  std::map<std::string, std::string> missing;
};

/// Writes record.json, and epochs.csv of a training, into `dir` (which exists), each atomically.
void write_record(const std::filesystem::path& dir, const Record& record);
/// Reads `dir`/record.json. Throws Error naming the folder and what is missing or wrong.
Record read_record(const std::filesystem::path& dir);

/// The rows of epochs.csv, header first; empty cells for missing values.
std::string epochs_csv(const Record& record);

}  // namespace evener::record
