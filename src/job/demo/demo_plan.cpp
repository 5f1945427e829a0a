#include "job/demo/demo_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/precision.h"

namespace evener::job {
namespace {

/// The shortest training that shows a steady speed, and the one from which more repeats say more than longer runs.
constexpr double kLeastTraining_s = 0.5, kLongTraining_s = 6;

/// A TOML string.
std::string quoted(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return '"' + escaped + '"';
}

std::string quoted_list(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + quoted(text);
  return '[' + list + ']';
}

std::string header_of(const char* command, const std::string& title, const std::filesystem::path& out, int repeats) {
  return fmt::format(
      "{}, which ran it: 'evener sweep' runs it again.\n"
      "command = \"{}\"\ntitle = {}\nout = {}\nrepeats = {}\n",
      kWrittenByDemo, command, quoted(title), quoted(out.string()), repeats);
}

}  // namespace

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
  text += fmt::format("\n[options]\nmodel = {}\ndata = {}\n", quoted(training.model),
                      quoted(fmt::format("{}:{}", training.data, size.images)));
  if (!training.size.empty()) text += fmt::format("size = {}\n", quoted(training.size));
  for (const std::string& option : training.options) text += option + "\n";
  const double percent = 100 * training.train_share, rest = 100 - percent;
  text += fmt::format("split = \"{:.0f}/{:.0f}/{:.0f}\"\nepochs = {}\nseed = {}\nno-calibration = true\n", percent,
                      rest / 3, rest - rest / 3, training.epochs, seed);
  return text + fmt::format("\n[axes]\non = {}\nprecision = {}\n", quoted_list(ways), quoted_list(precisions));
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
         fmt::format("\n[options]\nimages = [{}]\nseed = {}\n", quoted(fmt::format("{}:{}", training.data, kImages)),
                     seed + 1) +
         fmt::format("\n[[together]]\nmodel = {}\nprecision = {}\n", quoted_list(models), quoted_list(computed));
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

}  // namespace evener::job
