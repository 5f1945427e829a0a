// A network that is ready to prediction: one of ours with its weights, or one in a file of another program.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "task/inference/class_output.h"
#include "task/inference/normalization.h"
#include "task/inference/trained_model.h"

namespace evener::task {

/// How predictions become probabilities.
enum class OutputType { kAuto, kProbabilities, kLogits };

struct InferenceRequest {
  ModelRequest model;
  NormalizationRule normalization = {};             // kData is refused: there is no training
  std::string usual_normalization = {};             // of a file that says none; empty = imagenet, or as .tflite has it
  std::optional<engine::ChannelPlace> layout = {};  // of a file's input; absent = as its shape tells
  bool reverse_channels = false;                    // the file's network takes blue, green, red
  bool features = false;                            // give out what the last linear layer reads, as "features"
  /// Makes a file of another program a network of ours, which network(), state() and all engines have then.
  bool describe = false;
  std::filesystem::path labels = {};           // a text file with a class name on each line; empty = the model's own
  bool tells_classes = true;                   // false: nobody wants classes of its outputs, nor notes on them
  std::string output = {};                     // that classes are told by; empty = chosen (class_output.h)
  OutputType output_type = OutputType::kAuto;  // of a file's output that is one value
};

class InferenceModel {
 public:
  /// Throws UsageError and Error as open_trained_model and Engine::open_model_file do, and where the size of a file's
  /// input is open and was not given.
  explicit InferenceModel(const InferenceRequest& request);

  const std::string& name() const { return name_; }  // "resnet18", "model.onnx"
  /// The file that the weights come from; empty = they are random.
  const std::filesystem::path& weights() const { return weights_; }
  const std::filesystem::path& run() const { return run_; }  // the folder of the training; empty = none
  /// Of one sample. Extents of a file's input that are open stand as -1 where it takes no images.
  const std::vector<std::int64_t>& input_shape() const { return input_.shape; }
  bool takes_images() const { return input_.is_image; }
  const std::vector<std::string>& classes() const { return classes_; }
  /// Whether classes() are ImageNet's names, because nothing else names as many classes.
  bool names_are_assumed() const { return names_are_assumed_; }
  const data::ChannelStatistics& normalization() const { return normalization_; }
  /// Whether images that come as floats are what its input takes, and not pixels from 0 to 255.
  bool takes_floats_as_they_are() const { return float_normalization_.has_value(); }
  /// Of images that come as bytes, or as floats.
  const data::ChannelStatistics& normalization_of(bool are_bytes) const {
    return are_bytes || !float_normalization_ ? normalization_ : *float_normalization_;
  }
  /// How it was shown pictures in training; absent where its file doesn't tell.
  std::optional<data::CropMode> crop() const { return crop_; }
  const std::vector<std::string>& notes() const { return notes_; }
  /// The batch that a file's network was fixed to; absent = any.
  std::optional<std::int64_t> fixed_batch() const { return fixed_batch_; }
  /// Whether its weights tell how they were trained, as those of our trainings do.
  bool was_trained_here() const { return trained_ && trained_->normalization && !trained_->trained_elsewhere; }
  /// Null for a file of another program, unless it was to be described.
  const network::Network* network() const { return trained_ ? &trained_->network : nullptr; }
  const TensorMap* state() const { return trained_ ? &trained_->state : nullptr; }
  const network::QuantizationScheme* quantization() const { return trained_ ? &trained_->quantization : nullptr; }
  /// Whether it comes from a file of another program.
  bool is_foreign() const { return is_foreign_; }
  const std::vector<NetworkOutput>& outputs() const { return outputs_; }
  /// The name of the output that classes are told by; where none can tell them, of the first.
  const std::string& main_output() const { return outputs_[class_output_.index].name; }
  /// Why its predictions are no classes, beginning with its name; "" = they are. A detector's aren't either, and "".
  std::string no_classes() const;
  /// The layers of a file of another program, or empty.
  std::vector<engine::ModelLayer> file_layers() const;

  /// Why the engine can't run this; "" = it can.
  std::string refusal(const engine::Engine& engine, const engine::RunnerOptions& options) const;
  /// `sample`: the shape of one sample, where input_shape() is open. Bytes are normalised, and floats as bytes are;
  /// those for a file of another program are what its input takes already, unless a normalisation was asked for. See
  /// Engine::make_runners.
  std::vector<std::unique_ptr<engine::Runner>> make_runners(engine::Engine& engine,
                                                            const std::vector<std::int64_t>& sample,
                                                            engine::RunnerOptions options, int count) const;
  /// Runners of a stage of network(), which has to be known; those of the first one take images.
  std::vector<std::unique_ptr<engine::Runner>> make_stage_runners(engine::Engine& engine, const network::Network& stage,
                                                                  engine::RunnerOptions options, int count) const;

 private:
  void take_trained(const InferenceRequest& request);
  void take_file(const InferenceRequest& request);
  void describe_file();
  void take_outputs_of_file();
  void take_classes(const InferenceRequest& request);
  void take_normalization(const InferenceRequest& request, const std::optional<data::ChannelStatistics>& of_file);

  std::string name_;
  std::filesystem::path weights_, run_;
  engine::ModelInput input_;
  std::vector<std::string> classes_, notes_;
  std::filesystem::path named_by_;  // the file that the names of classes are from
  bool names_are_assumed_ = false;
  std::vector<NetworkOutput> outputs_;
  ClassOutput class_output_;
  data::ChannelStatistics normalization_;
  std::optional<data::ChannelStatistics> float_normalization_;  // absent = the same
  std::optional<data::CropMode> crop_;
  std::optional<std::int64_t> fixed_batch_;
  bool is_foreign_ = false;
  std::optional<TrainedModel> trained_;
  std::unique_ptr<engine::Engine> reader_;  // of the file, which it outlives
  std::unique_ptr<engine::ModelFile> file_;
};

/// Whether `model` names a file of another program: .onnx, .tflite, .xml.
bool is_foreign_model(const std::string& model);

/// For ask_program(): with the path of such a file, model_file_failure().
inline constexpr const char* kModelFileQuestion = "model-file";
/// Opens such a file, and shows zeros to it where its shape is known. Why that failed; "" = it didn't.
std::string model_file_failure(const std::string& path);

}  // namespace evener::task
