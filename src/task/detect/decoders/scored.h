// Networks that give a table of boxes and a table with the scores of all classes of each box.
//
//   DETR and its kin (Carion et al. 2020): some hundred queries with logits and boxes (middle and extents as shares of
//     the image); logits are softmaxed, with "no object" last, or, from Deformable DETR on, each is a sigmoid. No NMS.
//   Other tables of many boxes, such as YOLO-NAS, YOLOv4 and SSD: corners in pixels or shares, probabilities of the
//     classes, or of the background and the classes. NMS chooses.
//   Detectors of faces, as detectors of one class: SCRFD, YuNet and RetinaFace (five_points.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "task/detect/decoders/detection.h"
#include "task/detect/decoders/detector_file.h"
#include "task/detect/decoders/five_points.h"

namespace evener::task {

/// What the scores of a box are.
enum class ScoreKind : std::uint8_t {
  kProbabilities,  // of each class
  kSigmoid,        // their logits
  kSoftmaxLast,    // logits of the classes and, last, of no object
  kSoftmaxFirst,   // logits of the background and of the classes
  kSharesFirst,    // probabilities of the background and of the classes
};

struct ScoredLayout {
  std::string boxes, scores;
  std::int64_t columns = 0;  // of scores
  ScoreKind kind = ScoreKind::kProbabilities;
  bool from_middle = false;  // middle and extents; false: corners
  bool shares = false;       // of the image's sides; false: pixels
  bool needs_nms = true;
  std::int64_t width = 0, height = 0;  // of the network's image
};

class ScoredDecoder : public BoxDecoder {
 public:
  explicit ScoredDecoder(ScoredLayout layout);
  /// DETR's queries may be several objects with kSigmoid, as its own programs have it: each class with its own score.
  std::vector<Detection> found(const ImageOutputs& outputs, const DecodeOptions& options, float pixel) const override;
  float usual_iou() const override { return layout_.needs_nms ? 0.45F : 1; }

 private:
  Detection box_at(const float* values) const;

  const ScoredLayout layout_;
};

/// Absent where the outputs aren't such tables.
std::optional<RecognisedDetector> recognise_scored(const DetectorFile& file);

class FaceBoxDecoder : public BoxDecoder {
 public:
  /// `outputs`: their names, in the order that `decoder` recognised them in.
  FaceBoxDecoder(FivePointDecoder decoder, std::vector<std::string> outputs);
  std::vector<Detection> found(const ImageOutputs& outputs, const DecodeOptions& options, float pixel) const override;
  float usual_iou() const override { return face_family_facts(decoder_.family()).overlap; }
  std::size_t usual_candidates() const override { return FivePointOptions().candidates; }

 private:
  const FivePointDecoder decoder_;
  const std::vector<std::string> outputs_;
};

/// Absent where the outputs aren't those of such a network.
std::optional<RecognisedDetector> recognise_faces(const DetectorFile& file);

}  // namespace evener::task
