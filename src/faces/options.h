// The options of `evener faces`.
#pragma once

#include "faces/photos/faces.h"
#include "measure/run/observer.h"
#include "options/data_flags.h"
#include "options/measured_command.h"
#include "options/option.h"
#include "options/run_flags.h"
#include "placement/plan.h"

namespace evener::faces {

struct FacesFlags : OptionGroup {
  FacesFlags() : OptionGroup("Photos") {}

  Option<std::vector<std::string>> photos{*this, "DIR WHAT", rules().needed(),
                                          "Photos: folders, files, patterns; videos, a camera (/dev/video0); or the "
                                          "embeddings.safetensors of an earlier run"};
  Option<std::string> pairs{*this, "--pairs FILE", rules().not_recorded(),
                            "Judge: lines of two photos and 1 (one person) or 0"};
  Option<bool> strict{*this, "--strict", rules().not_recorded(),
                      "An unreadable photo is an error instead of being left out"};
};

struct FaceNetworkFlags : OptionGroup {
  FaceNetworkFlags() : OptionGroup("Networks") {}

  Option<std::string> detector{*this, "--detector NAME|FILE", "mtcnn", suggesting({"mtcnn"}),
                               "Finds faces: mtcnn, or SCRFD, YuNet or RetinaFace in a file (.onnx, .tflite, .xml)"};
  Option<std::string> detector_weights{
      *this, "--detector-weights DIR",
      "Of mtcnn: folder with pnet.pt, rnet.pt and onet.pt, or mtcnn for published ones, which are downloaded once"};
  Option<std::string> detector_size{*this, "--detector-size WIDTHxHEIGHT",
                                    "Of the images that a file's detector sees photos on (default: as the file says, "
                                    "or 640x640; YuNet: the photo's own)"};
  Option<std::string> embedder{
      *this, "--embedder NAME|FILE", "inception_resnet_v1", suggesting({"inception_resnet_v1", "mobilefacenet"}),
      "inception_resnet_v1 (FaceNet), mobilefacenet, or a network in a file (.onnx, .tflite, .xml)"};
  Option<std::string> weights{*this, "--weights FILE",
                              "Of the embedder, or facenet for published ones of inception_resnet_v1, which are "
                              "downloaded once, with mtcnn to find the faces (default: random ones, for measuring)"};
  Option<std::string> size{*this, "--size WIDTHxHEIGHT",
                           "Of the faces that a file's network sees (default: as the file says)"};
  Option<std::string> normalize{*this, "--normalize RULE",
                                "Of a file's network: MEAN/STD of values from 0 to 1, imagenet, or pixels: 0 to 255 as "
                                "they are (default: as the file says, or 0.5/0.5)"};
  Option<std::string> channel_order{*this, "--channel-order NAME", "rgb", one_of({"rgb", "bgr"}),
                                    "That a file's network takes: rgb or bgr"};
  Option<std::string> cut{*this, "--cut NAME", one_of({"", "box", "upright"}),
                          "How faces are cut out: box, or upright, turned by eyes, nose and mouth (default: as the "
                          "embedder was trained; of a file upright if its faces are 112 pixels high)"};
  Option<std::optional<int>> min_size{*this, "--min-size PIXELS", within(from_to(12, 10000)),
                                      "Of the smallest face that is looked for (default: 20 of mtcnn; else any)"};
  Option<std::string> confidence{*this, "--confidence P|P,P,P",
                                 rules().with_commas().called({"--threshold", "--thresholds"}),
                                 "Faces that are less likely are left out (default: mtcnn 0.7, SCRFD 0.5, YuNet 0.9, "
                                 "RetinaFace 0.6); or the least "
                                 "probability after each of mtcnn's three networks (default: 0.6,0.7,0.7)"};
  Option<double> factor{*this, "--factor SHARE", 0.709, within(from_to(0.1, 0.95)),
                        "Of mtcnn: from one size of the photo to the next"};
  Option<double> margin{*this, "--margin PIXELS", 0, within(from_to(0, 100)),
                        "Around a face, of those that the embedder sees"};
  Option<bool> largest{*this, "--largest", "Only the largest face of each photo"};
  Option<std::string> rotate{*this, "--rotate NAME", "none", one_of({"none", "auto"}),
                             "auto: photos without a sure face are looked at from all four sides"};

  /// Throws UsageError.
  FacesOptions options() const;

 private:
  DetectorRequest detector_request() const;
  EmbedderRequest embedder_request() const;
};

/// Options about the comparison of faces.
struct FacesComparisonFlags : OptionGroup {
  FacesComparisonFlags() : OptionGroup("Comparison") {}

  Option<double> limit{*this, "--limit DISTANCE", 1.0, within(from_to(0, 2)),
                       "Faces of one person are no farther apart on average; from 0 to 2"};
  Option<int> founder_size{*this, "--founder-size PIXELS", 40, within(zero_or_more()),
                           "Smaller faces join a person, but can't start a new one"};
  Option<std::optional<int>> neighbours{
      *this, "--neighbours N", within(from_to(0, 1000)),
      "The nearest of each face, in neighbours.csv (default: 10 of more than 10,000 faces)"};
};

struct FacesPlacementFlags : OptionGroup {
  FacesPlacementFlags() : OptionGroup("Placement") {}

  Option<std::string> on{*this, "--on PLACEMENT", "cpu", "cpu (all cores), cpu/t1, cuda:0, ... (docs/placements.md)"};
  Option<std::string> precision{*this, "--precision NAME", "fp32",
                                "Of the embedder and of a file's detector: fp32 or bf16"};

  Option<std::string> memory{*this, "--memory SIZE", rules().not_recorded(),
                             "Of the program while it looks at photos, as 600MB or 2GB (default: what it takes)"};

  placement::Plan plan() const;
  /// 0: as much as it takes. Throws UsageError.
  std::uint64_t memory_bytes() const;
};

struct FacesOutputFlags : OutputFlags {
  FacesOutputFlags() : OutputFlags("Folder for the results (default: runs/faces-TIME)") {}

  Option<bool> resume{*this, "--resume", rules().not_recorded(),
                      "Go on in --out: photos that are known there by their content are not done again"};
  Option<int> chunk{*this, "--chunk PHOTOS", 50, within(from_to(1, 1000000)).not_recorded(),
                    "A row of chunks.csv tells what so many cost a worker"};
  Option<std::string> sort{*this, "--sort DIR", rules().not_recorded(),
                           "Link the photos into a folder for each person there, named as names.csv in --out says"};
};

struct FacesCommandFlags {
  FacesFlags photos;
  VideoFlags videos;
  FaceNetworkFlags networks;
  FacesComparisonFlags comparison;
  FacesPlacementFlags placement;
  FacesOutputFlags output;
  EnergyFlags energy;

  OptionSet options() { return {&photos, &videos, &networks, &comparison, &placement, &output, &energy}; }
  /// The options for the record's config.
  nlohmann::json config() const;
};

/// Sets the weights to the files that names or runs stand for (take_weights()): "facenet" for the embedder's, and
/// "mtcnn" for the detector's. "facenet" also takes mtcnn where no other detector and no weights of it are given.
/// Throws UsageError where the embedder is another network.
void complete(FacesCommandFlags& flags, measure::Observer* observer);

/// `evener faces` as a sweep runs it.
MeasuredCommand measured_faces();

}  // namespace evener::faces
