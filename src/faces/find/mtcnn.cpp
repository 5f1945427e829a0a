#include "faces/find/mtcnn.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "data/area_resize.h"
#include "detect/decoders/detection.h"
#include "engine/window_network.h"
#include "network/init.h"
#include "network/passes/fold_batch_norm.h"
#include "network/zoo.h"
#include "weights/weights_file.h"

namespace evener::faces {
namespace {

namespace fs = std::filesystem;

/// What is common to two boxes as a share.
float common(const FaceBox& a, const FaceBox& b, Overlap overlap) {
  if (overlap == Overlap::kUnion) return detection::intersection_over_union(a, b);
  return detection::intersection(a, b, 1) / std::min(detection::area_of(a, 1), detection::area_of(b, 1));
}

class PartsInWindows : public PartNetwork {
 public:
  explicit PartsInWindows(const network::NetworkWithState& network)
      : side_(network.network.input_shape()[1]), windows_(network.network, network.state) {}

  /// Calls of few parts cost as much as those of a vector's lanes: all calls are about as large.
  std::size_t room(std::size_t left) const override {
    const std::size_t calls = (left + kTogether - 1) / kTogether;
    return (left + calls - 1) / calls;
  }

  void run(std::span<const float> parts) override {
    const std::int64_t plane = side_ * side_;
    count_ = static_cast<std::int64_t>(parts.size()) / (3 * plane);
    outputs_ = windows_.run({side_, side_, count_}, [&](std::int64_t y, std::span<float* const> planes) {
      for (std::int64_t part = 0; part < count_; ++part) {
        const float* from = parts.data() + 3 * part * plane + y * side_;
        for (float* const to : planes) {
          for (std::int64_t x = 0; x < side_; ++x) to[x * count_ + part] = normalized_value(from[x]);
          from += plane;
        }
      }
    });
  }

  PartValues output(const char* name) const override {
    const auto found = std::ranges::find(outputs_, std::string_view(name), &engine::WindowOutput::name);
    if (found == outputs_.end()) throw Error(std::string("the network has no output ") + name);
    return {found->values.data(), count_, 1};
  }

 private:
  static constexpr std::size_t kTogether = 32;  // so that their rows stay in the second-level cache

  std::int64_t side_, count_ = 0;
  engine::WindowNetwork windows_;
  std::span<const engine::WindowOutput> outputs_;
};

/// A call that isn't full costs as much as a full one.
class PartsInBatches : public PartNetwork {
 public:
  explicit PartsInBatches(std::int64_t side) : values_(static_cast<std::size_t>(3 * side * side)) {}

  void add(std::int64_t batch, std::unique_ptr<engine::Runner> runner) {
    batches_.push_back({static_cast<std::size_t>(batch), std::move(runner)});
  }

  /// The smallest that takes all, unless it is the largest and a quarter of it or more would stay empty: the next
  /// smaller ones then take less work.
  std::size_t room(std::size_t left) const override {
    std::size_t which = 0;
    while (which + 1 < batches_.size() && batches_[which].parts < left) ++which;
    if (which > 0 && which + 1 == batches_.size() && 4 * left <= 3 * batches_[which].parts) --which;
    return batches_[which].parts;
  }

  void run(std::span<const float> parts) override {
    engine::Runner& runner = *std::ranges::find(batches_, parts.size() / values_, &Batch::parts)->runner;
    runner.start(parts);
    outputs_ = runner.wait();
  }

  PartValues output(const char* name) const override {
    const HostTensor& output = outputs_.at(name);
    return {output.floats(), 1, output.shape.at(1)};
  }

 private:
  struct Batch {
    std::size_t parts;
    std::unique_ptr<engine::Runner> runner;
  };

  std::size_t values_;  // of a part
  std::vector<Batch> batches_;
  TensorMap outputs_;
};

constexpr double kCell = 12;  // pixels that the proposal network sees at once
constexpr float kStride = 2;  // between the places where it looks
constexpr std::int64_t kRefinementSide = 24, kOutputSide = 48;
// Most photos leave some hundred places after the first network and some ten after the second.
constexpr std::array<std::int64_t, 3> kRefinementBatches = {16, 32, 64}, kOutputBatches = {4, 8, 16};

/// The probability of the second of two classes.
float face_probability(float other, float face) {
  const float largest = std::max(other, face);
  const float a = std::exp(other - largest), b = std::exp(face - largest);
  return b / (a + b);
}

/// Scores that differ by less give no such probability: most places are passed over without an exponential.
float likely_difference(float probability) {
  constexpr float kRounding = 0.01F, kCertain = 15;  // a larger difference is rounded to a probability of 1
  return std::min(std::log(probability / (1 - probability)) - kRounding, kCertain);
}

/// In PyTorch these networks flatten width first, then height, then channels; ours flatten channels first.
void reorder_dense(TensorMap& state, const std::string& name, std::int64_t channels, std::int64_t side) {
  const auto found = state.find(name);
  const std::int64_t in = channels * side * side;
  if (found == state.end() || found->second.shape.size() != 2 || found->second.shape[1] != in) return;  // told later
  HostTensor ordered = found->second.to_floats();
  const HostTensor given = ordered;
  for (std::int64_t row = 0; row < given.shape[0]; ++row) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t y = 0; y < side; ++y) {
        for (std::int64_t x = 0; x < side; ++x) {
          ordered.floats()[row * in + (c * side + y) * side + x] =
              given.floats()[row * in + (x * side + y) * channels + c];
        }
      }
    }
  }
  found->second = std::move(ordered);
}

fs::path part_file(const fs::path& folder, const char* name) {
  for (const char* ending : {".pt", ".pth", ".safetensors"}) {
    const fs::path path = folder / (std::string(name) + ending);
    if (fs::exists(path)) return path;
  }
  throw Error("'" + folder.string() + "' has no " + name +
              ".pt: the weights of the face detector are pnet.pt, rnet.pt and onet.pt, which lie in the folder data/ "
              "of facenet-pytorch. 'evener data fetch mtcnn --out DIR' gets them");
}

network::NetworkWithState part(const char* model, const TensorMap& state, const std::string& what) {
  network::Network network = network::build(model, {});
  TensorMap fitted = network::fit_state(network, state, what, 1).state;
  return {std::move(network), std::move(fitted)};
}

/// The scales at which the smallest face is as large as a cell, then larger faces.
std::vector<double> scales_for(const data::Picture& photo, const MtcnnOptions& options) {
  double scale = kCell / options.min_size;
  double smallest = static_cast<double>(std::min(photo.width, photo.height)) * scale;
  std::vector<double> scales;
  for (; smallest >= kCell; smallest *= options.factor, scale *= options.factor) scales.push_back(scale);
  return scales;
}

std::array<float, 4> four(const PartValues& values, std::size_t part) {
  return {values(part, 0), values(part, 1), values(part, 2), values(part, 3)};
}

/// One for each thread.
class Mtcnn : public FaceDetector {
 public:
  Mtcnn(const MtcnnOptions& options, std::unique_ptr<engine::WindowNetwork> windows,
        std::unique_ptr<engine::Runner> proposal, std::unique_ptr<PartNetwork> refinement,
        std::unique_ptr<PartNetwork> output)
      : options_(options),
        windows_(std::move(windows)),
        proposal_(std::move(proposal)),
        refinement_(std::move(refinement)),
        output_(std::move(output)) {}

  std::vector<Face> find(const data::Picture& photo) override {
    const auto timed = [](double& sum_s, const auto& body) {
      const Stopwatch clock;
      auto result = body();
      sum_s += clock.seconds();
      return result;
    };
    auto boxes = timed(times_.main_s, [&] { return propose(photo); });
    boxes = timed(times_.other_s, [&] { return refine(photo, boxes); });
    return timed(times_.other_s, [&] { return finish(photo, boxes); });
  }
  /// Computes full calls of the second and the third network.
  void look_at_nothing() override {
    constexpr std::size_t kMany = 1000;  // parts: more than a call has
    const auto compute = [](PartNetwork& network, std::int64_t side) {
      network.run(std::vector<float>(network.room(kMany) * static_cast<std::size_t>(3 * side * side)));
    };
    compute(*refinement_, kRefinementSide);
    compute(*output_, kOutputSide);
  }
  float sure_probability() const override { return 0.95F; }
  std::string main_part() const override { return "MTCNN's first network"; }

 private:
  /// The first network's outputs at each place of a photo at one size: planes of rows x columns values.
  struct Places {
    const float *scores = nullptr, *shifts = nullptr;
    std::int64_t rows = 0, columns = 0;
    TensorMap held = {};  // owns what the pointers point into, where the network doesn't
  };

  Places places_of(const data::Picture& photo, std::int64_t height, std::int64_t width) {
    const data::PictureArea whole = {0, 0, photo.width, photo.height};
    if (windows_) {
      data::AreaRows rows(photo, whole, height, width);
      const auto& outputs = windows_->run({height, width}, [&](std::int64_t y, std::span<float* const> planes) {
        rows.write(y, planes);
        for (float* const plane : planes) {
          for (std::int64_t x = 0; x < width; ++x) plane[x] = normalized_value(plane[x]);
        }
      });
      return {outputs[0].values.data(), outputs[1].values.data(), outputs[0].rows, outputs[0].columns};
    }
    std::vector<float> level(static_cast<std::size_t>(3 * height * width));
    data::area_resize(photo, whole, height, width, level);
    proposal_->start_of_size(std::span<const float>(level), 1, height, width);
    Places places;
    places.held = proposal_->wait();
    const HostTensor& scores = places.held.at("scores");
    places.scores = scores.floats();
    places.shifts = places.held.at("shifts").floats();
    places.rows = scores.shape.at(2);
    places.columns = scores.shape.at(3);
    return places;
  }
  std::vector<FaceBox> propose(const data::Picture& photo) {
    const auto after_nms = [](const std::vector<Candidate>& candidates, float limit) {
      std::vector<FaceBox> boxes;
      for (const Candidate& candidate : candidates) boxes.push_back(candidate.box);
      std::vector<Candidate> kept;
      for (const std::size_t i : nms(boxes, limit, Overlap::kUnion)) kept.push_back(candidates[i]);
      return kept;
    };
    std::vector<Candidate> all;
    for (const double scale : scales_for(photo, options_)) {
      const std::vector<Candidate> kept = after_nms(candidates_at(photo, scale), 0.5F);
      all.insert(all.end(), kept.begin(), kept.end());
    }
    std::vector<FaceBox> boxes;
    for (const Candidate& candidate : after_nms(all, 0.7F)) {
      boxes.push_back(squared(shifted(candidate.box, candidate.shifts, /*one_more=*/false)));
    }
    return boxes;
  }
  std::vector<Candidate> candidates_at(const data::Picture& photo, double scale) {
    const Places places = places_of(photo, static_cast<std::int64_t>(static_cast<double>(photo.height) * scale + 1),
                                    static_cast<std::int64_t>(static_cast<double>(photo.width) * scale + 1));
    const std::int64_t plane = places.rows * places.columns;
    const auto place = [scale = static_cast<float>(scale)](std::int64_t cell, float within) {
      return std::floor((kStride * static_cast<float>(cell) + within) / scale);
    };
    const float least = likely_difference(options_.thresholds[0]);
    std::vector<Candidate> candidates;
    for (std::int64_t at = 0; at < plane; ++at) {
      const float other = places.scores[at], face = places.scores[plane + at];
      if (face - other < least) continue;
      const float probability = face_probability(other, face);
      if (!(probability >= options_.thresholds[0])) continue;
      constexpr auto kEnd = static_cast<float>(kCell);
      const std::int64_t x = at % places.columns, y = at / places.columns;
      candidates.push_back({{place(x, 1), place(y, 1), place(x, kEnd), place(y, kEnd), probability},
                            four({places.shifts, plane, 1}, static_cast<std::size_t>(at))});
    }
    return candidates;
  }
  std::vector<FaceBox> refine(const data::Picture& photo, const std::vector<FaceBox>& boxes) {
    std::vector<FaceBox> likely;
    std::vector<std::array<float, 4>> shifts;
    look(photo, boxes, kRefinementSide, *refinement_, [&](std::size_t box, std::size_t part) {
      const PartValues scores = refinement_->output("scores");
      const float probability = face_probability(scores(part, 0), scores(part, 1));
      if (!(probability > options_.thresholds[1])) return;
      likely.push_back(boxes[box]);
      likely.back().probability = probability;
      shifts.push_back(four(refinement_->output("shifts"), part));
    });
    std::vector<FaceBox> refined;
    for (const std::size_t i : nms(likely, 0.7F, Overlap::kUnion)) {
      refined.push_back(squared(shifted(likely[i], shifts[i], /*one_more=*/true)));
    }
    return refined;
  }
  std::vector<Face> finish(const data::Picture& photo, const std::vector<FaceBox>& boxes) {
    std::vector<Face> likely;
    std::vector<FaceBox> final_boxes;
    look(photo, boxes, kOutputSide, *output_, [&](std::size_t index, std::size_t part) {
      const PartValues scores = output_->output("scores");
      const float probability = face_probability(scores(part, 0), scores(part, 1));
      if (!(probability > options_.thresholds[2])) return;
      FaceBox box = boxes[index];
      box.probability = probability;
      Face face;
      const PartValues places = output_->output("landmarks");  // five x, then five y
      for (std::size_t i = 0; i < 5; ++i) {
        face.landmarks[i] = {(box.x2 - box.x1 + 1) * places(part, i) + box.x1 - 1,
                             (box.y2 - box.y1 + 1) * places(part, i + 5) + box.y1 - 1};
      }
      face.box = shifted(box, four(output_->output("shifts"), part), /*one_more=*/true);
      final_boxes.push_back(face.box);
      likely.push_back(face);
    });
    std::vector<Face> faces;
    for (const std::size_t i : nms(final_boxes, 0.7F, Overlap::kSmaller)) faces.push_back(likely[i]);
    return faces;
  }
  /// Scales the parts of the photo in `boxes` to `side` x `side` pixels and runs them through `network`, some at a
  /// time. `take` is called with the index of each box and its index among the parts of the network's last call.
  template <class Take>
  void look(const data::Picture& photo, const std::vector<FaceBox>& boxes, std::int64_t side, PartNetwork& network,
            const Take& take) {
    const auto each = static_cast<std::size_t>(3 * side * side);
    std::vector<std::size_t> seen;  // boxes of which something lies on the photo
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const data::PictureArea area = pixels_of(boxes[i], photo.width, photo.height);
      if (area.width > 0 && area.height > 0) seen.push_back(i);
    }
    std::vector<float> parts;
    for (std::size_t begin = 0, count = 0; begin < seen.size(); begin += count) {
      const std::size_t left = seen.size() - begin;
      const std::size_t room = network.room(left);
      count = std::min(room, left);
      parts.resize(each * room);
      for (std::size_t i = 0; i < count; ++i) {
        const data::PictureArea area = pixels_of(boxes[seen[begin + i]], photo.width, photo.height);
        data::area_resize(photo, area, side, side, std::span(parts).subspan(i * each, each));
      }
      network.run(parts);
      for (std::size_t i = 0; i < count; ++i) take(seen[begin + i], i);
    }
  }

  const MtcnnOptions options_;
  std::unique_ptr<engine::WindowNetwork> windows_;  // the first network on a CPU; else null
  std::unique_ptr<engine::Runner> proposal_;        // the first network on other devices; else null
  std::unique_ptr<PartNetwork> refinement_, output_;
};

}  // namespace

std::vector<std::size_t> nms(const std::vector<FaceBox>& boxes, float limit, Overlap overlap) {
  std::vector<std::size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Boxes that reach beyond a photo can show a network the very same pixels, and are then equally likely. Which of them
  // stays is decided as facenet-pytorch does: torchvision's suppression takes the first, its own by smaller areas the
  // last.
  if (overlap == Overlap::kSmaller) std::ranges::reverse(order);
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return boxes[a].probability > boxes[b].probability; });
  return detection::nms(
      order, [&](std::size_t kept, std::size_t next) { return common(boxes[kept], boxes[next], overlap) > limit; });
}

FaceBox shifted(const FaceBox& box, const std::array<float, 4>& shifts, bool one_more) {
  const float extra = one_more ? 1 : 0;
  const float width = box.x2 - box.x1 + extra, height = box.y2 - box.y1 + extra;
  return {box.x1 + shifts[0] * width, box.y1 + shifts[1] * height, box.x2 + shifts[2] * width,
          box.y2 + shifts[3] * height, box.probability};
}

FaceBox squared(const FaceBox& box) {
  const float width = box.x2 - box.x1, height = box.y2 - box.y1;
  const float side = std::max(width, height);
  const float x = box.x1 + width * 0.5F - side * 0.5F, y = box.y1 + height * 0.5F - side * 0.5F;
  return {x, y, x + side, y + side, box.probability};
}

data::PictureArea pixels_of(const FaceBox& box, std::int64_t width, std::int64_t height) {
  const auto first = [](float coordinate) {
    return std::max<std::int64_t>(static_cast<std::int64_t>(coordinate), 1) - 1;
  };
  const auto end = [](float coordinate, std::int64_t extent) {
    return std::min<std::int64_t>(static_cast<std::int64_t>(coordinate), extent);
  };
  const std::int64_t x = first(box.x1), y = first(box.y1);
  return {x, y, std::max<std::int64_t>(0, end(box.x2, width) - x), std::max<std::int64_t>(0, end(box.y2, height) - y)};
}

void set_face_normalization(engine::RunnerOptions& options) {
  options.mean.assign(3, 0.5F);
  options.standard_deviation.assign(3, 128.0F / 255);
}

std::vector<std::unique_ptr<PartNetwork>> part_networks_in_windows(const network::NetworkWithState& network,
                                                                   int count) {
  std::vector<std::unique_ptr<PartNetwork>> networks;
  for (int i = 0; i < count; ++i) networks.push_back(std::make_unique<PartsInWindows>(network));
  return networks;
}

std::vector<std::unique_ptr<PartNetwork>> part_networks_in_batches(engine::Engine& engine,
                                                                   const network::NetworkWithState& network,
                                                                   engine::RunnerOptions runner,
                                                                   std::span<const std::int64_t> batches, int count) {
  std::vector<std::unique_ptr<PartsInBatches>> made;
  for (int i = 0; i < count; ++i) {
    made.push_back(std::make_unique<PartsInBatches>(network.network.input_shape()[1]));
  }
  runner.values = engine::ImageValues::kFloats;
  set_face_normalization(runner);
  for (const std::int64_t batch : batches) {
    runner.batch = batch;
    auto runners = engine.make_runners(network.network, network.state, runner, count);
    for (std::size_t i = 0; i < made.size(); ++i) made[i]->add(batch, std::move(runners[i]));
  }
  return {std::make_move_iterator(made.begin()), std::make_move_iterator(made.end())};
}

std::array<fs::path, 3> detector_weight_files(const fs::path& folder) {
  return {part_file(folder, "pnet"), part_file(folder, "rnet"), part_file(folder, "onet")};
}

DetectorWeights read_detector_weights(const fs::path& folder) {
  const auto files = detector_weight_files(folder);
  const auto read = [](const fs::path& file) { return weights::read_weights(file).tensors; };
  DetectorWeights weights{read(files[0]), read(files[1]), read(files[2])};
  reorder_dense(weights.refinement, "dense4.weight", 64, 3);
  reorder_dense(weights.output, "dense5.weight", 128, 3);
  return weights;
}

std::vector<std::unique_ptr<FaceDetector>> make_mtcnn(engine::Engine& engine, const DetectorWeights& weights,
                                                      const MtcnnOptions& options, engine::RunnerOptions runner,
                                                      int count) {
  const auto of_part = [](const char* model, const TensorMap& state) {
    return part(model, state, "the weights of the face detector");
  };
  const auto proposal = of_part("mtcnn_pnet", weights.proposal);
  const auto refinement = of_part("mtcnn_rnet", weights.refinement), output = of_part("mtcnn_onet", weights.output);
  const auto detectors = static_cast<std::size_t>(count);
  std::vector<std::unique_ptr<engine::WindowNetwork>> windows(detectors);
  std::vector<std::unique_ptr<engine::Runner>> proposals(detectors);
  std::vector<std::unique_ptr<PartNetwork>> refinements, outputs;
  if (runner.device.kind == DeviceKind::kCpu) {
    for (auto& each : windows) each = std::make_unique<engine::WindowNetwork>(proposal.network, proposal.state);
    refinements = part_networks_in_windows(refinement, count);
    outputs = part_networks_in_windows(output, count);
  } else {
    refinements = part_networks_in_batches(engine, refinement, runner, kRefinementBatches, count);
    outputs = part_networks_in_batches(engine, output, runner, kOutputBatches, count);
    runner.values = engine::ImageValues::kFloats;
    set_face_normalization(runner);
    runner.any_size = true;
    proposals = engine.make_runners(proposal.network, proposal.state, runner, count);
  }
  std::vector<std::unique_ptr<FaceDetector>> made;
  for (std::size_t i = 0; i < detectors; ++i) {
    made.push_back(std::make_unique<Mtcnn>(options, std::move(windows[i]), std::move(proposals[i]),
                                           std::move(refinements[i]), std::move(outputs[i])));
  }
  return made;
}

}  // namespace evener::faces
