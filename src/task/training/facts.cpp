#include "task/training/facts.h"

#include <cstdio>
#include <string>

#include "base/random.h"

namespace evener::task {
namespace {

constexpr const char* kSameData = "give all hosts the same data under the same path";

std::string text_of(const data::SampleTargets& targets) {
  if (const auto* label = std::get_if<std::int32_t>(&targets)) return std::to_string(*label);
  std::string text;
  for (const data::LabelledBox& box : std::get<std::vector<data::LabelledBox>>(targets)) {
    char corners[96];
    std::snprintf(corners, sizeof corners, "%d:%.2f:%.2f:%.2f:%.2f ", box.label, box.x1, box.y1, box.x2, box.y2);
    text += corners;
  }
  return text;
}

/// A hash of the targets of all samples and of which samples belong to which part. The folders above the data may have
/// different names on each host.
std::string order_of(const data::OpenedData& data) {
  std::string text;
  for (std::size_t i = 0; i < data.dataset->size(); ++i) text += text_of(data.dataset->targets(i)) + ",";
  for (const auto* part : {&data.split.train, &data.split.val, &data.split.test}) {
    text += ";";
    for (const auto sample : *part) text += std::to_string(sample) + ",";
  }
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(hash_text(text)));
  return hash;
}

/// The normalisation as text. One that differs by rounding counts as another, since it gives other pixels.
std::string normalization_of(const TrainSetup& setup) {
  return nlohmann::json({setup.normalization.mean, setup.normalization.standard_deviation}).dump();
}

std::string weights_of(const TensorMap& state) {
  std::uint64_t hash = 0;
  for (const auto& [name, tensor] : state) {
    const auto* bytes = reinterpret_cast<const char*>(tensor.bytes.data());
    hash = hash * 31 + hash_text(name) + hash_text({bytes, tensor.bytes.size()});
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace

std::vector<parallel::Fact> facts_of(const PreparedTraining::State& job) {
  const TrainSetup& setup = job.setup;
  std::string classes;
  for (const auto& name : setup.classes) classes += (classes.empty() ? "" : ", ") + name;
  nlohmann::json cut = nlohmann::json::array();
  for (const auto& stage : setup.division.stages) cut.push_back(stage.first);
  return {
      {"number of images", std::to_string(setup.images), kSameData},
      {"list of classes", classes, kSameData},
      {"shape of the images", nlohmann::json({setup.image.channels, setup.image.height, setup.image.width}).dump(),
       "give --size and --channels"},
      {"order of the images (hash)", order_of(job.data), kSameData},
      {"engine", setup.engine, "build the same engines on all hosts, or name one with --engine"},
      {"training's set of options", job.config.dump(), "use the same command and version on all hosts"},
      {"normalisation (mean, deviation)", normalization_of(setup), kSameData},
      {"epoch and step to go on from", std::to_string(setup.resumed_epoch) + ", " + std::to_string(setup.resumed_step),
       "--resume needs an --out that all hosts see, such as a shared folder"},
      {"first state of the weights (hash)", weights_of(job.state),
       "give all hosts the same --weights, or with --resume an --out that all see"},
      {"number of replicas", std::to_string(job.options.plan.replicas.size()),
       "give a placement that comes to the same number of replicas on each host, such as 2xcpu/t4"},
      {"first layers of the stages", cut.dump(), "name the layers with --cut"},
  };
}

}  // namespace evener::task
