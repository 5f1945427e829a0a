// The network that computes an embedding of each face: one of ours, or one in a file of another program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/image_shape.h"
#include "engine/engine.h"
#include "task/inference/inference_model.h"

namespace evener::task {

/// How a face is cut out of its photo: its box (crop_face), or turned upright by its landmarks (align_face).
enum class FaceCut : std::uint8_t { kBox, kUpright };

struct EmbedderRequest {
  /// "inception_resnet_v1", "mobilefacenet", or a file (is_foreign_model).
  std::string name = "inception_resnet_v1";
  std::filesystem::path weights = {};  // of a network of ours; empty = random ones
  InferenceRequest file = {};          // how a network in a file takes its images; InferenceRequest::model is not used
  std::optional<FaceCut> cut = {};     // absent = as the network was trained; for one in a file kUpright if its faces
                                       // are 112 pixels high
};

/// Throws UsageError for a name that is neither a network nor a file, naming the nearest.
void check_embedder(const std::string& name);

class FaceEmbedder {
 public:
  /// `options`: device, threads of all lanes together, and precision; `lanes`: threads that call embed(). Throws Error
  /// for weights that don't fit, and for a file whose network takes no colour images or gives something else than one
  /// vector of each.
  FaceEmbedder(engine::Engine& engine, const EmbedderRequest& request, engine::RunnerOptions options, int lanes);

  const data::ImageShape& face_shape() const { return shape_; }
  FaceCut cut() const { return cut_; }
  /// How many faces are best embedded in one call, which is also the most.
  std::size_t batch() const { return batch_; }
  const std::vector<std::string>& notes() const { return notes_; }

  /// The vectors of prepared faces (3, H, W), as the network gives them. Each lane calls it from one thread.
  std::vector<std::vector<float>> embed(const std::vector<std::span<const std::uint8_t>>& faces, int lane);

 private:
  void take_ours(engine::Engine& engine, const EmbedderRequest& request, engine::RunnerOptions options, int lanes);
  void take_file(engine::Engine& engine, const EmbedderRequest& request, engine::RunnerOptions options, int lanes);

  std::unique_ptr<InferenceModel> file_;  // the network in a file; null for one of ours
  std::vector<std::unique_ptr<engine::Runner>> runners_;
  data::ImageShape shape_;
  FaceCut cut_ = FaceCut::kBox;
  std::size_t batch_ = 8;
  std::string output_;  // the name of the output that has the embeddings
  std::vector<std::string> notes_;
};

}  // namespace evener::task
