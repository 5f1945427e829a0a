#include "app/demo/demo_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "base/child.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/module.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/precision.h"
#include "base/stop.h"
#include "base/terminal_text.h"
#include "measure/run/passing_folder.h"
#include "placement/machine.h"
#include "record/record.h"
#include "report/table.h"
#include "sweep/figures/sweep_page.h"
#include "sweep/sweep_job.h"

namespace evener::app {
namespace {

namespace fs = std::filesystem;

/// Runs this program with the arguments `words` ("train", "resnet34", ...) in a child process and reads the record that
/// it leaves in `out`. `name`: of the run, for messages. Throws Interrupted after a stop request, and Error if the
/// process failed.
record::Record run_as_child(const std::vector<std::string>& words, const fs::path& out, const std::string& name) {
  std::vector<std::string> all = {"evener"};
  all.insert(all.end(), words.begin(), words.end());
  const ChildEnd end = run_child("/proc/self/exe", all);
  if (stop_requested()) throw Interrupted("the demo was interrupted at " + name);
  if (end.good()) return record::read_record(out);
  const bool told = end.signal == 0;  // the child itself said what went wrong
  throw Error("the demo's run of " + name + " ended with " + end_text(end) +
              (told ? "; its message is above" : "; was there too little memory?"));
}

/// The share of the whole time after which both trainings are over, the rest being for int8, inference and the page;
/// and the perceptron's share of what the probes leave of that time.
constexpr double kTrainingShare = 0.75, kPerceptronShare = 0.4;
/// The least of the expected time that the second training is taken to need, where the first needed less.
constexpr double kLeastSlowdown = 0.8;
constexpr double kSecondsPerMinute = 60;

/// Folders and files that a demo leaves.
constexpr const char* kTrained = "trained";
constexpr const char* kQuantized = "int8";
constexpr std::array kOwnNames = {"perceptron", "resnet", "inference", kTrained, kQuantized, "probe"};

/// Removes what an earlier demo left. Throws UsageError where a folder has the name of one of its own, and no demo
/// wrote the experiment's file beside it: it is somebody's run then.
void make_room(const fs::path& out) {
  if (fs::exists(out) && !fs::is_directory(out)) throw UsageError(out.string() + " is no folder; give another --out");
  const fs::path experiment = out / (demo_trainings().front().name + ".toml");
  constexpr std::uint64_t kLargest = 100'000;
  const bool is_demo = fs::exists(experiment) && read_file(experiment, kLargest).starts_with(kWrittenByDemo);
  for (const char* name : kOwnNames) {
    if (!fs::exists(out / name)) continue;
    if (!is_demo) {
      throw UsageError(fmt::format("'{}' has a folder '{}', which is not an earlier demo's; give another --out",
                                   out.string(), name));
    }
    fs::remove_all(out / name);
  }
  require_writable_directory(out);
}

ProbedTraining probe(const DemoTraining& training, const std::string& on, const DemoFlags& flags) {
  const fs::path out = fs::path(*flags.out) / "probe";
  const measure::PassingFolder passing(out);
  std::vector<std::string> words = {"train",
                                    training.model,
                                    "--data",
                                    fmt::format("{}:{}", training.data, training.fewest_images),
                                    "--on",
                                    on,
                                    "--epochs",
                                    "1",
                                    "--batch",
                                    "32",
                                    "--seed",
                                    std::to_string(*flags.seed),
                                    "--no-calibration",
                                    "--quiet",
                                    "--overwrite",
                                    "--out",
                                    out.string()};
  if (!training.size.empty()) words.insert(words.end(), {"--size", training.size});
  const Stopwatch clock;
  const record::Record record = run_as_child(words, out, training.model + " on " + on);
  const double seconds = clock.seconds();
  const double train_s = record.times.train.value_or(seconds);
  const double images = static_cast<double>(record.data.train.value_or(training.fewest_images));
  return {std::max(0.0, seconds - train_s), std::max(train_s / images, 1e-9)};
}

/// The mean over all ways. Stages are by far the slowest of them, and the others are taken to be as slow as one thread.
ProbedTraining probe_all(const DemoTraining& training, const std::vector<std::string>& ways, const DemoFlags& flags) {
  ProbedTraining mean = probe(training, ways.front(), flags);
  const auto stages = std::ranges::find_if(ways, [](const std::string& way) { return way.find("..") != way.npos; });
  if (stages == ways.end()) return mean;
  const ProbedTraining slowest = probe(training, *stages, flags);
  const double share = 1.0 / static_cast<double>(ways.size());
  mean.start_s += share * (slowest.start_s - mean.start_s);
  mean.image_s += share * (slowest.image_s - mean.image_s);
  return mean;
}

/// The demo on its way: what it has written, and what it says.
class Demo {
 public:
  Demo(const DemoFlags& flags, const MeasuredCommands& commands, measure::Observer& observer, const StopFlag* stop)
      : flags_(flags),
        commands_(commands),
        observer_(observer),
        stop_(stop),
        out_(*flags.out),
        seconds_(kSecondsPerMinute * *flags.minutes) {}

  void train_all() {
    const placement::Machine& machine = placement::machine();
    ways_ = demo_ways(machine);
    precisions_ = demo_precisions(machine);
    observer_.note(fmt::format("measuring this machine ({}) ...", machine.cpu.model));
    std::vector<ProbedTraining> probed;
    for (const DemoTraining& training : demo_trainings()) probed.push_back(probe_all(training, ways_, flags_));
    write_file_atomically(out_ / "published.csv", demo_reference(machine.cores));
    double slowdown = 1;
    for (std::size_t n = 0; n < demo_trainings().size(); ++n) {
      const DemoTraining& training = demo_trainings()[n];
      const double left_s = std::max(1.0, kTrainingShare * seconds_ - clock_.seconds());
      const double own_s = n == 0 ? kPerceptronShare * left_s : left_s;
      const DemoSize size = demo_size(training, probed[n], ways_.size() * precisions_.size(), own_s / slowdown);
      tell_size(training, size);
      // With one run of each way all have to be there, however long they take.
      const double limit_s = size.repeats > 1 ? 1.2 * own_s : 0;
      const Stopwatch clock;
      run_sweep(training.name,
                training_experiment(training, size, ways_, precisions_, *flags_.seed, limit_s, out_ / training.name),
                n == 0);
      // Beside other programs replicas and stages wait for each other, which the probes don't show.
      slowdown = std::max(kLeastSlowdown, clock.seconds() / own_s);
      repeats_ = std::min(repeats_, size.repeats);
    }
  }

  /// What the last training made, in each precision and in int8.
  void infer() {
    if (module_status("openvino").state != ModuleState::kUsable) {
      observer_.note("inference is left out: " + module_status("openvino").reason);
      return;
    }
    const auto trained = a_run_of(sweeps_.back());
    if (!trained) return;
    const fs::path kept = out_ / kTrained, quantized = out_ / kQuantized;
    fs::copy(*trained, kept, fs::copy_options::recursive);
    observer_.note("== int8 after training");
    run_as_child({"quantize", kept.string(), "--seconds", "0.2", "--quiet", "--overwrite", "--out", quantized.string(),
                  "--json", (out_ / "int8.json").string()},
                 quantized, "the quantisation");
    run_sweep("inference",
              inference_experiment(demo_trainings().back(), kept, quantized, precisions_, repeats_, *flags_.seed,
                                   out_ / "inference"),
              false);
  }

  /// Writes the page. Returns its tables and conclusions, and where it is, for a terminal.
  std::string report() const {
    const sweeps::OverviewText top{
        .title = "One machine, every way",
        .sentences = {fmt::format("The same trainings in {}, then what was trained in each precision: speed, accuracy "
                                  "and memory of each. Data are generated.",
                                  counted(ways_.size(), "way")),
                      ways_sentence(ways_)}};
    const report::WrittenPage page =
        sweeps::write_sweeps_page(out_ / "report.html", sweeps_, report::plotly_path(), top);
    constexpr std::size_t kColumns = 160;
    std::string text;
    for (const sweeps::Sweep& sweep : sweeps_) {
      text += fmt::format("\n{}\n{}", sweep.record.title, report::terminal_text(sweeps::sweep_table(sweep), kColumns));
      for (const std::string& sentence : sweeps::sweep_conclusion(sweep)) text += one_line(sentence) + "\n";
    }
    text += fmt::format("\nreport: {}\n", fs::absolute(page.path).lexically_normal().string());
    return page.hint.empty() ? text : text + page.hint + "\n";
  }

 private:
  void tell_size(const DemoTraining& training, const DemoSize& size) {
    observer_.note(fmt::format("== {}: {} images, {}, {} of each in {}{}", training.title, size.images,
                               counted(training.epochs, "epoch"), counted(size.repeats, "run"),
                               counted(ways_.size(), "way"),
                               size.learns ? "" : "; too few to learn much in: --minutes more would do"));
    if (size.repeats == 1) observer_.note("one run of each can't be compared: nothing is claimed");
  }

  void run_sweep(const std::string& name, const std::string& experiment, bool has_reference) {
    const fs::path file = out_ / (name + ".toml");
    write_file_atomically(file, experiment);
    sweeps::SweepFlags sweep;
    sweep.what.read({file.string()});
    if (has_reference) sweep.reference.read({(out_ / "published.csv").string()});
    sweeps::complete(sweep, commands_);
    sweeps_.push_back(sweeps::sweep(sweep, observer_, stop_).sweep);
  }

  /// The folder of a run that ended well, in fp32.
  std::optional<fs::path> a_run_of(const sweeps::Sweep& sweep) const {
    for (const sweeps::SweepCellRuns& cell : sweep.cells) {
      for (const record::SweepRun& run : cell.runs) {
        if (record::has_figures(run.end)) return sweep.folder / run.folder;
      }
    }
    return std::nullopt;
  }

  const DemoFlags& flags_;
  const MeasuredCommands& commands_;
  measure::Observer& observer_;
  const StopFlag* stop_;
  const fs::path out_;
  const double seconds_;
  const Stopwatch clock_;
  std::vector<std::string> ways_, precisions_;
  std::vector<sweeps::Sweep> sweeps_;
  int repeats_ = 5;
};

/// The shortest training that shows a steady speed, and the one from which more repeats say more than longer runs.
constexpr double kLeastTraining_s = 0.5, kLongTraining_s = 6;

/// A TOML string.
std::string toml_string(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return '"' + escaped + '"';
}

std::string toml_list(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + toml_string(text);
  return '[' + list + ']';
}

std::string header_of(const char* command, const std::string& title, const std::filesystem::path& out, int repeats) {
  return fmt::format(
      "{}, which ran it: 'evener sweep' runs it again.\n"
      "command = \"{}\"\ntitle = {}\nout = {}\nrepeats = {}\n",
      kWrittenByDemo, command, toml_string(title), toml_string(out.string()), repeats);
}

}  // namespace

void demo(const DemoFlags& flags, const MeasuredCommands& commands, measure::Observer& observer, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  make_room(*flags.out);
  Demo demo(flags, commands, observer, stop);
  demo.train_all();
  demo.infer();
  observer.tell(demo.report());
}

std::vector<std::string> demo_ways(const placement::Machine& machine) {
  const int cores = machine.cores;
  std::vector<std::string> ways = {"cpu/t1"};
  if (cores > 1) {
    const int half = cores / 2;
    ways.push_back(fmt::format("cpu/t{}", cores));
    ways.push_back(fmt::format("2xcpu/t{}", half));
    ways.push_back(fmt::format("cpu/t{}..cpu/t{}", half, half));
    ways.push_back(fmt::format("cpu/t{}+cpu/t{}@0.5", half, half));
  }
  if (!machine.cuda.devices.empty()) ways.insert(ways.end(), {"cuda:0", "cuda:0+cpu"});
  return ways;
}

std::string ways_sentence(const std::vector<std::string>& ways) {
  const auto meaning = [](const std::string& way) -> std::string {
    if (way == "cuda:0") return "one GPU";
    if (way == "cuda:0+cpu") return "GPU and CPU share each batch";
    if (way.find("..") != std::string::npos) return "the layers are divided over two stages, a pipeline";
    if (way.find('+') != std::string::npos) {
      return "two unequal replicas share each batch, the second held to half its speed";
    }
    if (way.starts_with("2x")) return "two equal replicas, processes of their own, share each batch";
    return way == "cpu/t1" ? "one thread" : "all threads in one process";
  };
  std::string text = "The ways: ";
  for (std::size_t n = 0; n < ways.size(); ++n) {
    text += fmt::format("{}{}, {}", n == 0 ? "" : "; ", ways[n], meaning(ways[n]));
  }
  return text + ".";
}

std::vector<std::string> demo_precisions(const placement::Machine& machine) {
  std::vector<std::string> precisions = {precision_name(Precision::kFp32)};
  if (has_fast_bf16(machine.cpu.features) || !machine.cuda.devices.empty()) {
    precisions.emplace_back(precision_name(Precision::kBf16));
  }
  return precisions;
}

const std::vector<DemoTraining>& demo_trainings() {
  static const std::vector<DemoTraining> kTrainings = {
      {.name = "perceptron",
       .title = "A perceptron in every way",
       .model = "mlp:784-256-10",
       .data = "synth:digits",
       .options = {"lr = 0.3", "batch = 64"},
       .epochs = 5,
       .fewest_images = 3000,
       .enough_images = 6000,
       .most_images = 60000},
      {.name = "resnet",
       .title = "A residual network in every way",
       .model = "resnet20",
       .data = "synth:digits",
       .size = "14x14",
       .options = {"lr = 0.05", "momentum = 0.9", "schedule = \"one-cycle\"", "batch = 32"},
       .epochs = 4,
       .fewest_images = 500,
       .enough_images = 1200,
       .most_images = 12000}};
  return kTrainings;
}

DemoSize demo_size(const DemoTraining& training, const ProbedTraining& probed, std::size_t cells, double seconds) {
  const auto training_s = [&](int repeats) { return seconds / static_cast<double>(cells) / repeats - probed.start_s; };
  DemoSize size;
  if (training_s(5) >= kLongTraining_s) {
    size.repeats = 5;
  } else if (training_s(3) >= kLeastTraining_s) {
    size.repeats = 3;
  }
  const double images = training_s(size.repeats) / training.epochs / probed.image_s / training.train_share;
  size.images = static_cast<int>(std::clamp(images, 1.0 * training.fewest_images, 1.0 * training.most_images));
  size.learns = size.images >= training.enough_images;
  return size;
}

std::string training_experiment(const DemoTraining& training, const DemoSize& size,
                                const std::vector<std::string>& ways, const std::vector<std::string>& precisions,
                                std::uint64_t seed, double limit_s, const std::filesystem::path& out) {
  std::string text = header_of("train", training.title, out, size.repeats);
  if (limit_s > 0) text += fmt::format("time-limit = {:.0f}\n", std::max(1.0, limit_s));
  text += fmt::format("\n[options]\nmodel = {}\ndata = {}\n", toml_string(training.model),
                      toml_string(fmt::format("{}:{}", training.data, size.images)));
  if (!training.size.empty()) text += fmt::format("size = {}\n", toml_string(training.size));
  for (const std::string& option : training.options) text += option + "\n";
  const double percent = 100 * training.train_share, rest = 100 - percent;
  text += fmt::format("split = \"{:.0f}/{:.0f}/{:.0f}\"\nepochs = {}\nseed = {}\nno-calibration = true\n", percent,
                      rest / 3, rest - rest / 3, training.epochs, seed);
  return text + fmt::format("\n[axes]\non = {}\nprecision = {}\n", toml_list(ways), toml_list(precisions));
}

std::string inference_experiment(const DemoTraining& training, const std::filesystem::path& trained,
                                 const std::filesystem::path& quantized, const std::vector<std::string>& precisions,
                                 int repeats, std::uint64_t seed, const std::filesystem::path& out) {
  constexpr int kImages = 4000;  // half a second of a core's work, and an accuracy within half a percent
  std::vector<std::string> models, computed = precisions;
  for (std::size_t n = 0; n < precisions.size(); ++n) models.push_back(trained.string());
  if (!quantized.empty()) {
    models.push_back(quantized.string());
    computed.push_back(precisions.front());  // of what stays in float beside int8
  }
  return header_of("infer", "What was trained, in each precision, on new images", out, repeats) +
         fmt::format("\n[options]\nimages = [{}]\nseed = {}\n",
                     toml_string(fmt::format("{}:{}", training.data, kImages)), seed + 1) +
         fmt::format("\n[[together]]\nmodel = {}\nprecision = {}\n", toml_list(models), toml_list(computed));
}

std::string demo_reference(int cores) {
  constexpr const char* kPlace = "a machine that its document does not name,a student's project on MNIST";
  std::string text = "cell,figure,value,unit,measured,metric,against,machine,source\n";
  text += fmt::format("C with AVX,time,35.92,s,on=cpu/t1,train_s,,{}\n", kPlace);
  text += fmt::format("C with AVX,accuracy,91.37,%,on=cpu/t1,test_accuracy,,{}\n", kPlace);
  text += fmt::format("\"OpenMP, 4 threads\",time,9.74,s,on=cpu/t{},train_s,C with AVX,{}\n", cores, kPlace);
  text += fmt::format("\"OpenMP, 4 threads\",accuracy,91.39,%,on=cpu/t{},test_accuracy,,{}\n", cores, kPlace);
  if (cores > 1) {
    text += fmt::format("\"multiprocessing, 4 workers\",time,71.3,s,on=2xcpu/t{},train_s,C with AVX,{}\n", cores / 2,
                        kPlace);
  }
  return text;
}

}  // namespace evener::app
