// A network that is ready to predict: one of ours with its weights, or one in a file of another program, with what the
// file doesn't say but is usual for networks like it: that is asked of whoever knows such networks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "data/preprocess.h"
#include "engine/engine.h"
#include "infer/model/class_output.h"
#include "infer/model/fitted_calibration.h"
#include "infer/model/normalization.h"
#include "infer/model/trained_model.h"

namespace evener::detection {
struct BoxDecoder;
}

namespace evener::inference {

/// A file's network for images.
struct FileView {
  std::string name;
  const std::map<std::string, std::string>& metadata;
  const std::vector<NetworkOutput>& outputs;
  std::vector<std::int64_t> image;   // (C, H, W)
  std::vector<std::string> classes;  // names that are known, "" where a number has none; empty = none
  bool names_are_unread = false;     // it has names, which can't be read
  bool is_lite = false;              // TensorFlow Lite's
  /// The outputs for a trial image of plain grey, as the network takes it.
  std::function<TensorMap()> trial;
};

struct FileHabits {
  std::shared_ptr<const detection::BoxDecoder> decoder = {};  // null: it is no detector
  std::string family = {};                                    // "YOLOX"
  std::vector<std::string> classes = {};                      // names of all classes
  std::string named_by = {};                                  // whose names are assumed: "COCO"; "" = nobody's
  std::string normalization = {};                             // as --normalize takes it; "" = not known
  bool reverse_channels = false;
  std::optional<data::CropMode> crop = {};
  std::string doubt = {};  // why it isn't taken for a detector; "" = it is one, or nobody asked
};

/// Throws UsageError where the network isn't of the kind that is looked for.
using FileStudy = std::function<FileHabits(const FileView&)>;

/// Makes the study of files that may be anything. `decoder`: the value of --decoder, the only one that is tried.
using StudyMaker = FileStudy (*)(const std::string& decoder);

/// Registers, before main(), what a room above knows of the files of other programs: src/detect knows detectors.
struct RegisteredStudy {
  explicit RegisteredStudy(StudyMaker maker);
};

/// The study by what is registered; empty where nothing is.
FileStudy registered_study(const std::string& decoder = "");

struct InferenceRequest {
  ModelRequest model;
  NormalizationRule normalization = {};             // kData is refused: there is no training
  std::string usual_normalization = {};             // for a file that says none; empty = imagenet, or 0.5/0.5
                                                    // for .tflite and grey images
  std::optional<engine::ChannelPlace> layout = {};  // where the channels stand in a file's input; absent = as its shape
                                                    // tells
  std::optional<bool> reverse_channels = {};        // the file's network takes blue, green, red; absent = as is usual
                                                    // for it
  FileStudy study = {};                             // asked of a file's network for images; empty = nobody knows it
  bool features = false;                            // add an output "features": the input of the last linear layer
  bool features_if_any = false;                     // the same, unless the output is made in another way
  bool calibrated = false;                          // use the calibration beside the weights (calibration.h), if any
  /// Converts a file of another program to a network of ours, so that network() and state() are known and all engines
  /// can run it.
  bool describe = false;
  std::filesystem::path labels = {};           // a text file with a class name on each line; empty = the model's own
  bool tells_classes = true;                   // false: the outputs aren't used as classes, so no notes on them are
                                               // made
  std::string output = {};                     // the name of the output that holds the classes; empty = chosen
                                               // (class_output.h)
  OutputType output_type = OutputType::kAuto;  // what is told of the classes; kProbabilities: a file's output that is
                                               // a single value is one
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
  /// The shape of one sample. Open extents of a file's input are -1 where it takes no images.
  const std::vector<std::int64_t>& input_shape() const { return input_.shape; }
  bool takes_images() const { return input_.is_image; }
  const std::vector<std::string>& classes() const { return classes_; }
  /// Whether classes() are ImageNet's names, because nothing else names as many classes.
  bool names_are_assumed() const { return names_are_assumed_; }
  const data::ChannelStatistics& normalization() const { return normalization_; }
  /// Whether images given as floats are passed to the network as they are, and not taken for pixels from 0 to 255.
  bool takes_floats_as_they_are() const { return float_normalization_.has_value(); }
  /// The normalisation of images that are given as bytes, or as floats.
  const data::ChannelStatistics& normalization_of(bool are_bytes) const {
    return are_bytes || !float_normalization_ ? normalization_ : *float_normalization_;
  }
  /// How pictures were fitted to its input in training; absent where its file doesn't tell, and never of a detector.
  std::optional<data::CropMode> crop() const { return crop_; }
  /// What is usual for a file's network, where InferenceRequest::study knows it.
  const FileHabits& habits() const { return habits_; }
  /// Whether a file's network takes blue, green, red.
  bool reverses_channels() const { return input_.reverse_channels; }
  const std::vector<std::string>& notes() const { return notes_; }
  /// The batch that a file's network was fixed to; absent = any.
  std::optional<std::int64_t> fixed_batch() const { return fixed_batch_; }
  /// Whether it was trained by evener: its weights have the metadata of our trainings.
  bool was_trained_here() const { return trained_ && trained_->normalization && !trained_->trained_elsewhere; }
  /// Null for a file of another program, unless InferenceRequest::describe was set.
  const network::Network* network() const { return trained_ ? &trained_->network : nullptr; }
  const TensorMap* state() const { return trained_ ? &trained_->state : nullptr; }
  const network::QuantizationScheme* quantization() const { return trained_ ? &trained_->quantization : nullptr; }
  /// Whether it comes from a file of another program.
  bool is_foreign() const { return is_foreign_; }
  const std::vector<NetworkOutput>& outputs() const { return outputs_; }
  /// The name of the output that holds the classes, or of the first output where none does.
  const std::string& main_output() const { return outputs_[class_output_.index].name; }
  /// The likeliest classes by the values of main_output(), as inference::top_classes() has it, for what these are known
  /// to be.
  std::vector<ClassScore> top_classes(std::span<const float> scores, std::size_t count, OutputType told) const {
    return inference::top_classes(scores, count, told, holds_);
  }
  /// What main_output() holds: logits where a network of ours or a product with weights makes it, probabilities where a
  /// softmax does; kAuto: only its values tell.
  OutputType holds() const { return holds_; }
  /// Whether boxes can be read from its outputs (detection::Detector).
  bool is_detector() const { return habits_.decoder || (trained_ && !trained_->network.anchors().empty()); }
  /// Why its outputs are no classes of an image, beginning with its name; "" = they are.
  std::string no_classes() const;
  /// The calibration beside its weights that answers() applies; null: there is none, or it wasn't asked for.
  const ClassifierCalibration* calibration() const { return calibration_ ? &*calibration_ : nullptr; }
  /// Whether it has the output kUnknownOutput, above 1 for images that are like nothing that it was trained on.
  bool tells_unknown() const;
  /// Whether runners give the output kFeaturesOutput, and the shape of that for one sample.
  bool gives_features() const { return features_shape_.has_value(); }
  const std::vector<std::int64_t>& features_shape() const { return features_shape_.value(); }
  /// Makes answers of what a runner gave: probabilities by the calibration's temperature, and the output
  /// kUnknownOutput. Thread-safe.
  TensorMap answers(TensorMap outputs) const;

  /// The layers of a file of another program, or empty.
  std::vector<engine::ModelLayer> file_layers() const;

  /// Why the engine can't run this network; "" = it can.
  std::string refusal(const engine::Engine& engine, const engine::RunnerOptions& options) const;
  /// Makes runners for samples of the shape `sample`, which says what input_shape() leaves open. Bytes are normalised,
  /// and so are floats, except that a file of another program takes floats as they are unless a normalisation was asked
  /// for. See Engine::make_runners.
  std::vector<std::unique_ptr<engine::Runner>> make_runners(engine::Engine& engine,
                                                            const std::vector<std::int64_t>& sample,
                                                            engine::RunnerOptions options, int count) const;
  /// Makes runners of one stage of network(), which must not be null. The first stage takes images.
  std::vector<std::unique_ptr<engine::Runner>> make_stage_runners(engine::Engine& engine, const network::Network& stage,
                                                                  engine::RunnerOptions options, int count) const;

 private:
  void take_trained(const InferenceRequest& request);
  void take_file(const InferenceRequest& request);
  void describe_file();
  void take_outputs_of_file();
  void study_file(const InferenceRequest& request);
  void take_classes(const InferenceRequest& request);
  void take_meaning(const InferenceRequest& request);
  void take_calibration(const InferenceRequest& request);
  void take_features(const InferenceRequest& request);
  void take_normalization(const InferenceRequest& request, const std::optional<data::ChannelStatistics>& of_file);

  std::string name_;
  std::filesystem::path weights_, run_;
  engine::ModelInput input_;
  std::vector<std::string> classes_, notes_;
  std::filesystem::path named_by_;  // the file that the class names were read from
  bool names_are_assumed_ = false, names_are_unread_ = false;
  std::vector<NetworkOutput> outputs_;
  ClassOutput class_output_;
  OutputType holds_ = OutputType::kAuto;
  data::ChannelStatistics normalization_;
  std::optional<data::ChannelStatistics> float_normalization_;  // absent = as bytes
  std::optional<data::CropMode> crop_;
  FileHabits habits_;
  std::optional<std::int64_t> fixed_batch_;
  bool is_foreign_ = false;
  std::optional<TrainedModel> trained_;
  std::optional<ClassifierCalibration> calibration_;
  std::optional<ClassDistance> distance_;  // of the calibration, where it knows what is unknown
  std::optional<std::vector<std::int64_t>> features_shape_;
  bool knows_unknown_inside_ = false;       // a file that we exported computes kUnknownOutput itself
  bool tells_features_ = false;             // answers() leave the features in
  std::unique_ptr<engine::Engine> reader_;  // the engine that reads file_; it must outlive that
  std::unique_ptr<engine::ModelFile> file_;
};

/// Whether `model` names a file of another program: .onnx, .tflite, .xml.
bool is_foreign_model(const std::string& model);
/// The file of another program's format that `model` names: itself, or what `evener quantize` left in a folder. Empty:
/// it names something else.
std::filesystem::path foreign_file(const std::string& model);

}  // namespace evener::inference
