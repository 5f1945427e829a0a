// Finds faces by MTCNN (Zhang et al. 2016), with the arithmetic of facenet-pytorch 2.6: the same boxes, probabilities
// and landmarks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "base/tensor.h"
#include "data/area_resize.h"
#include "engine/engine.h"
#include "faces/find/face_detector.h"
#include "network/network.h"
#include "network/passes/fold_batch_norm.h"

namespace evener::faces {

// The box arithmetic between the networks, in float32 as facenet-pytorch computes it (models/utils/detect_face).

/// A box with the regression that a network proposes for its sides, as shares of its width and height.
struct Candidate {
  FaceBox box;
  std::array<float, 4> shifts = {};
};

/// How the overlap of two boxes is measured.
enum class Overlap {
  kUnion,    // the intersection as a share of the union; sides are as long as their coordinates differ
  kSmaller,  // the intersection as a share of the smaller box; sides are one pixel longer
};

/// NMS: of boxes that overlap by more than `limit` only the likeliest stays; of equally likely ones the first (kUnion)
/// or the last (kSmaller). Indices of those that stay, the likeliest first.
std::vector<std::size_t> nms(const std::vector<FaceBox>& boxes, float limit, Overlap overlap);

/// The box with its sides shifted; `one_more`: extents count one pixel more than coordinates differ.
FaceBox shifted(const FaceBox& box, const std::array<float, 4>& shifts, bool one_more);
/// The square around the same middle with the box's longer side.
FaceBox squared(const FaceBox& box);
/// The pixels of a photo that a box covers: coordinates truncated to whole numbers, counted from 1, and clamped to the
/// photo. The area is empty where the box lies beside the photo.
data::PictureArea pixels_of(const FaceBox& box, std::int64_t width, std::int64_t height);

/// (x - 127.5) / 128 of a value from 0 to 255: what MTCNN's networks take.
inline float normalized_value(float value) {
  return (value - 127.5F) * 0.0078125F;
}

/// Lets a runner do the same; networks that embed faces take such values, too.
void set_face_normalization(engine::RunnerOptions& options);

/// An output for several parts: output(p, i) is value i of part p.
struct PartValues {
  const float* values = nullptr;
  std::int64_t value_step = 1, part_step = 1;

  float operator()(std::size_t part, std::size_t i) const {
    return values[static_cast<std::int64_t>(i) * value_step + static_cast<std::int64_t>(part) * part_step];
  }
};

/// The second or the third network, which sees parts of a photo that were brought to one size. Not thread-safe.
class PartNetwork {
 public:
  virtual ~PartNetwork() = default;

  /// For how many parts run() is to be called where `left` are left. It may be more than `left`: the outputs beyond
  /// mean nothing.
  virtual std::size_t room(std::size_t left) const = 0;
  /// Parts (N, 3, side, side) with values from 0 to 255; N is what room() said.
  virtual void run(std::span<const float> parts) = 0;
  /// The output of that name of the last run().
  virtual PartValues output(const char* name) const = 0;
};

/// `count` networks for the threads of a CPU: kernels of our own, in float32, for any number of parts a call.
std::vector<std::unique_ptr<PartNetwork>> part_networks_in_windows(const network::NetworkWithState& network, int count);
/// `count` networks that an engine runs, for calls of the sizes in `batches`, the smallest first.
std::vector<std::unique_ptr<PartNetwork>> part_networks_in_batches(engine::Engine& engine,
                                                                   const network::NetworkWithState& network,
                                                                   engine::RunnerOptions runner,
                                                                   std::span<const std::int64_t> batches, int count);

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

/// Makes `count` MTCNNs, one for each thread that computes. `runner`: the device, and on a GPU the precision. On a CPU
/// each computes in float32 on the thread that calls it. Photos smaller than a face give none.
std::vector<std::unique_ptr<FaceDetector>> make_mtcnn(engine::Engine& engine, const DetectorWeights& weights,
                                                      const MtcnnOptions& options, engine::RunnerOptions runner,
                                                      int count);

}  // namespace evener::faces
