// Finds faces by MTCNN (Zhang et al. 2016), with the arithmetic of facenet-pytorch 2.6: the same boxes, probabilities
// and landmarks.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "data/codecs/picture.h"
#include "engine/engine.h"
#include "engine/window_network.h"
#include "network/network.h"
#include "task/faces/boxes.h"
#include "task/faces/face.h"
#include "task/faces/face_detector.h"
#include "task/faces/part_network.h"

namespace evener::task {

struct MtcnnOptions {
  int min_size = 20;                                     // pixels of the smallest face that is looked for
  std::array<float, 3> thresholds = {0.6F, 0.7F, 0.7F};  // least probability after each network
  double factor = 0.709;                                 // by which the photo is scaled from one size of the pyramid to
                                                         // the next
};

/// Weights of the three networks.
struct DetectorWeights {
  TensorMap proposal, refinement, output;
};

/// The files pnet, rnet and onet (.pt, .pth or .safetensors) in a folder. Throws Error naming the one that is missing.
std::array<std::filesystem::path, 3> detector_weight_files(const std::filesystem::path& folder);
/// Reads these files, whose tensors have facenet-pytorch's names.
DetectorWeights read_detector_weights(const std::filesystem::path& folder);

class Mtcnn : public FaceDetector {
 public:
  /// Makes `count` detectors, one for each thread that computes. `runner`: the device, and on a GPU the precision. On a
  /// CPU each computes in float32 on the thread that calls it.
  static std::vector<std::unique_ptr<FaceDetector>> make(engine::Engine& engine, const DetectorWeights& weights,
                                                         const MtcnnOptions& options, engine::RunnerOptions runner,
                                                         int count);

  /// Photos smaller than a face give none.
  std::vector<Face> find(const data::Picture& photo) override;
  /// Computes full calls of the second and the third network.
  void look_at_nothing() override;
  float sure_probability() const override { return 0.95F; }
  std::string main_part() const override { return "MTCNN's first network"; }

 private:
  explicit Mtcnn(const MtcnnOptions& options) : options_(options) {}

  /// The first network's outputs at each place of a photo at one size: planes of rows x columns values.
  struct Places {
    const float *scores = nullptr, *shifts = nullptr;
    std::int64_t rows = 0, columns = 0;
    TensorMap held = {};  // owns what the pointers point into, where the network doesn't
  };

  Places places_of(const data::Picture& photo, std::int64_t height, std::int64_t width);
  std::vector<FaceBox> propose(const data::Picture& photo);
  std::vector<Candidate> candidates_at(const data::Picture& photo, double scale);
  std::vector<FaceBox> refine(const data::Picture& photo, const std::vector<FaceBox>& boxes);
  std::vector<Face> finish(const data::Picture& photo, const std::vector<FaceBox>& boxes);
  /// Scales the parts of the photo in `boxes` to `side` x `side` pixels and runs them through `network`, some at a
  /// time. `take` is called with the index of each box and its index among the parts of the network's last call.
  template <class Take>
  void look(const data::Picture& photo, const std::vector<FaceBox>& boxes, std::int64_t side, PartNetwork& network,
            const Take& take);

  const MtcnnOptions options_;
  std::unique_ptr<engine::WindowNetwork> windows_;  // the first network on a CPU; else null
  std::unique_ptr<engine::Runner> proposal_;        // the first network on other devices; else null
  std::unique_ptr<PartNetwork> refinement_, output_;
};

}  // namespace evener::task
