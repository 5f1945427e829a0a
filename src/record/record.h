// The record of a run: record.json and epochs.csv, schema "evener-record-1". One part is common to all tasks, and tasks
// with keys of their own have a further part. A missing value is absent here and null in the file, with a reason in
// Record::missing; it is never 0 and never a guess. record_fields.h names the keys of all members: a new member needs a
// line there, and nothing else.
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

/// How a run, or one session of it, ended. A killed run can't write kKilled itself: its file still says "running", and
/// a reader that finds no process holding the folder's lock calls it kKilled.
enum class Status { kDone, kInterrupted, kDiverged, kFailed, kRunning, kKilled };
const char* status_name(Status status);

/// Describes a machine and its load at the start; no host name. Absent values are unknown on this machine (no governor
/// in a container, say).
struct MachineRecord {
  std::string cpu;  // model as the kernel names it
  int packages = 0;
  int cores = 0;                          // physical cores this process may use
  int logical_cpus = 0;                   // logical CPUs this process may use
  int online_cpus = 0;                    // logical CPUs of the whole machine
  std::optional<double> quota_cpus;       // cgroup quota; absent = none
  std::optional<std::string> cpu_kinds;   // "8 cores IntelCore (16 CPUs), 8 cores IntelAtom (8 CPUs)"; absent: alike
  std::vector<std::string> cpu_features;  // avx512_bf16 and the like
  std::uint64_t memory_bytes = 0;
  std::string os;                             // "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;                         // "Linux 6.1.0-18-amd64 x86_64"
  std::optional<std::string> governor;        // cpufreq governor; several joined by '/'
  std::optional<double> load_1min;            // load average at the start of the run
  std::optional<std::string> virtualization;  // "kvm", "container", ...; absent = none seen
};

struct StageRecord {
  std::string device;                    // "cpu", "cuda:0"
  std::optional<int> threads;            // CPU stages only
  std::vector<int> cpus;                 // logical CPUs it was pinned to; empty = not pinned
  std::optional<double> emulated_speed;  // the F of "@F"
  // For one stage of several: its predicted memory, and the measured peak.
  std::optional<std::int64_t> predicted_memory_bytes = {}, memory_bytes = {};
  std::optional<double> busy_share = {};  // inference with a divided network: busy share of the time
  std::string uuid = {};                  // of a GPU whose driver reports one
};
struct ReplicaRecord {
  std::vector<StageRecord> stages;
  std::optional<double> share = {};          // of the samples trained on
  std::optional<std::int64_t> samples = {};  // samples that it trained on
  std::optional<double> busy_s = {};         // reading and computing, without waiting for others
  std::string host = {};                     // host name, if there are several hosts
};
/// How batches were divided from `step` on; step 0 is the first one of this process.
struct DivisionRecord {
  std::int64_t step = 0;
  std::vector<std::int64_t> samples;  // of each replica
};
struct PlacementRecord {
  std::string text;  // as it was given: "cpu/t2"
  std::vector<ReplicaRecord> replicas;
  std::vector<DivisionRecord> divisions = {};  // of whole batches; empty for a single replica
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

/// A rule of valid measurements that this one breaks.
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
  std::optional<double> first_step;       // from the start to the end of the first step; overlaps with the others
  std::optional<double> checkpoint = {};  // writing checkpoints
};

/// An epoch of a training: the results of its steps and, if there was one, of its validation.
struct EpochRecord {
  int epoch = 0;                  // from 1
  std::optional<double> seconds;  // of the training steps alone
  std::optional<double> validate_seconds;
  std::optional<double> images_per_s;    // training images / seconds
  std::optional<double> lr;              // of the last step
  std::optional<double> train_loss;      // mean over the steps, while the weights changed
  std::optional<double> train_accuracy;  // in 0..1; absent for a detector
  std::optional<double> val_loss, val_accuracy;
  bool best = false;                       // the best validation so far
  bool head_only = false;                  // linear probing: the last layer was fitted on fixed features, without steps
  double share = 1;                        // share of its steps that were done; below 1 if the time was up
  std::map<std::string, double> figures;   // further figures by name: "val_map_50"; may be empty
  std::map<std::string, double> phases_s;  // of this epoch, critical thread; empty = not recorded
  std::optional<double> from_s = {}, to_s = {};  // session time of its start and end, with validation and saving
  std::optional<double> joules = {};             // from from_s to to_s
};

/// Computes images_per_s from `seconds` for an epoch over `train_images` images.
void set_speed(EpochRecord& epoch, std::size_t train_images);

/// Shares in 0..1.
struct Accuracy {
  std::optional<double> train;  // of the last epoch
  std::optional<double> val;    // the best epoch's
  std::optional<std::int64_t> val_epoch;
  std::optional<double> test;
  std::string test_weights;                   // "best", "last" or "given": the weights that were tested
  std::optional<double> val_loss, test_loss;  // mean losses of the evaluations of `val` and `test`
};

/// The number of classes in the confusion matrix: all, or 0 where the matrix would have more numbers than anybody
/// reads.
inline std::size_t confusion_classes(std::size_t classes) {
  constexpr std::size_t kMostClasses = 200;
  return classes <= kMostClasses ? classes : 0;
}

/// The confusion matrix of the tested weights.
struct ConfusionRecord {
  std::string part;                               // the evaluated part of the data: "test", "validation", ...
  std::vector<std::vector<std::int64_t>> counts;  // [true class][found class]; empty = not counted

  bool empty() const { return counts.empty(); }
};

/// The part of a record that only trainings have.
struct TrainingRecord {
  std::vector<EpochRecord> epochs;
  Accuracy accuracy;
};

/// A rate of queries that was tried, and the resulting latency.
struct RateTrial {
  double rate = 0;  // queries per second
  std::int64_t queries = 0;
  std::optional<double> seconds;
  std::optional<double> latency_s;  // at the scenario's percentile
  std::optional<double> latency_p50_s;
  bool held = false;  // kept the latency limit
};

/// The scenario in which a system that answers queries was measured (bench/).
struct ScenarioRecord {
  std::string name;                  // "server"; empty: no scenario
  std::optional<double> percentile;  // of latency
  std::optional<double> latency_limit_s;
  std::optional<double> seconds;  // of the reported run
  std::int64_t queries = 0, samples = 0;
  std::int64_t late = 0;                  // queries over the latency limit
  std::optional<std::int64_t> discarded;  // slowest queries that early stopping discards
  std::optional<std::int64_t> lanes, largest_batch, samples_per_query;
  std::map<std::string, double> parts_s;  // mean parts of latency: "queue", "compute", ...
  std::vector<RateTrial> rates;           // in the order of the trials

  bool empty() const { return name.empty(); }
};

/// The times of a layer, or of several layers that are computed as one, measured in a separate pass (--profile layers).
/// Unknown values are absent: operations and bytes of layers in foreign files, rooflines on devices of unknown peaks.
struct LayerRecord {
  std::string name;                   // of the first layer; empty: work outside of layers
  std::string what;                   // "Conv2d"
  std::vector<std::string> joined;    // other layers computed together with it
  std::optional<double> forward_s;    // median of several calls or steps
  std::optional<double> backward_s;   // of a training step
  std::optional<std::int64_t> flops;  // multiply and add count as two
  std::optional<std::int64_t> bytes;  // least traffic of memory
  /// The least time possible with the CPU's peaks of multiply-adds and memory (measure/peaks.h), over the time taken.
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
  // How often a thread that waited gave its CPU to one of its team that another program kept waiting: between threads
  // bound to a CPU each, which exchanged them, and between threads of several CPUs (base/directed_yield.h).
  std::optional<std::int64_t> exchanged = {}, lent = {};
  std::int64_t samples = 0;
};

struct GpuUse {
  int index = 0;
  std::string name;
  std::optional<double> utilisation_percent_mean;
  std::optional<std::uint64_t> peak_memory_bytes;  // held by this program
  std::optional<double> joules;
  std::map<std::string, double> step_phases_s;  // of one step, medians by the GPU's clock; empty = not timed
  std::optional<double> throttled_share = {};   // share of the samples, in 0..1
  std::string throttle_reasons = {};            // "power cap, heat"
  std::optional<Spread> temperature_c = {}, clock_mhz = {};
  std::string uuid = {};  // if its driver reports one
};

/// A session: uninterrupted work on a run. A run that was resumed, or restarted after it lost a replica, has several.
struct SessionRecord {
  std::string started;                // UTC
  std::vector<std::string> command;   // argv
  Status status = Status::kRunning;   // how it ended
  std::string placement;              // where it computed
  std::int64_t replicas = 0;          // number of the placement's replicas it used
  std::string engine;                 // the engine
  std::string cpu;                    // the machine's processor
  std::optional<double> seconds;      // from its start to its end
  std::optional<double> cpu_seconds;  // CPU time, user + system
  std::int64_t epochs = 0;            // epochs completed
  std::int64_t images = 0;            // images that it trained on, or answered: those that were computed
};

struct Record {
  std::string kind = "train";  // the task; record_kind.h has words for it
  Status status = Status::kDone;
  std::string started;                        // UTC, "2026-11-21T10:15:00Z"; of the first session
  std::vector<std::string> command;           // argv of the first session
  std::vector<SessionRecord> sessions;        // in order; times and the like are sums over them
  std::map<std::string, std::string> config;  // the value used of every option, as JSON: {"lr", "0.1"}
  /// The words of the command line for each given option, which --resume gives again: {"split", {"70/10/20"}}.
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
  std::vector<std::string> fallbacks;  // where the run differs from what was asked for, with reasons
  std::vector<std::string> notes;      // remarks, e.g. on choices that affect learning
  std::vector<std::string> warnings;   // problems of the data or of training, with advice
  Validity validity;
  Times times;
  std::map<std::string, double> phases_s;  // exclusive, critical thread of rank 0
  std::map<std::string, double> hidden_s;  // of other threads, overlapping with the critical one
  Throughput images_per_s;
  TrainingRecord training;    // in the file only if kind is "train"
  ConfusionRecord confusion;  // of any task that predicts classes
  ScenarioRecord scenario;
  std::vector<LayerRecord> layers;        // in order of computation; empty: not asked for
  std::map<std::string, Metric> metrics;  // by name: figures without a key of their own; see add_metric()
  Memory memory;
  CpuUse cpu;
  std::vector<GpuUse> gpus;
  Energy energy;
  /// By host, as reported by each; merged into `energy` once the first host's energy is known.
  std::vector<Energy> host_energies;
  /// Why values are absent: path -> reason, e.g. {"accuracy.test", "the data has no test part"}.
  std::map<std::string, std::string> missing;
};

/// Writes record.json, and epochs.csv of a training, into `dir` (which exists), each atomically.
void write_record(const std::filesystem::path& dir, const Record& record);
/// Reads `dir`/record.json. Throws Error naming the folder and what is missing or wrong.
Record read_record(const std::filesystem::path& dir);

/// The rows of epochs.csv, header first; empty cells for missing values.
std::string epochs_csv(const Record& record);

}  // namespace evener::record
