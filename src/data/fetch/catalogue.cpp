#include "data/fetch/catalogue.h"

#include <algorithm>

#include "base/error.h"
#include "base/names.h"

namespace evener::data {
namespace {

CatalogueFile file(const std::string& name, const std::vector<std::string>& bases, std::uint64_t bytes,
                   Checksum checksum) {
  CatalogueFile result{name, {}, bytes, std::move(checksum), {}};
  for (const std::string& base : bases) result.urls.push_back(base + name);
  return result;
}

Checksum md5(const char* hex) {
  return {ChecksumKind::kMd5, hex};
}
Checksum sha256(const char* hex) {
  return {ChecksumKind::kSha256, hex};
}

CatalogueEntry mnist() {
  const std::vector<std::string> bases = {"https://ossci-datasets.s3.amazonaws.com/mnist/",
                                          "https://storage.googleapis.com/cvdf-datasets/mnist/"};
  return {"mnist",
          "70000 handwritten digits, 28x28 grey, 10 classes",
          "none stated",
          {file("train-images-idx3-ubyte.gz", bases, 9912422, md5("f68b3c2dcbeaaa9fbdd348bbdeb94873")),
           file("train-labels-idx1-ubyte.gz", bases, 28881, md5("d53e105ee54ea40749a09fcbcd1e9432")),
           file("t10k-images-idx3-ubyte.gz", bases, 1648877, md5("9fb629c4189551a2d022fa330f9573f3")),
           file("t10k-labels-idx1-ubyte.gz", bases, 4542, md5("ec29112dd5afa0611ce80d1b7f02629c"))},
          "evener train mlp:784-256-10 --data {}"};
}

CatalogueEntry fashion_mnist() {
  const std::vector<std::string> bases = {
      "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"};
  return {"fashion-mnist",
          "70000 pictures of clothes, 28x28 grey, 10 classes",
          "MIT",
          {file("train-images-idx3-ubyte.gz", bases, 26421880, md5("8d4fb7e6c68d591d4c3dfef9ec88bf0d")),
           file("train-labels-idx1-ubyte.gz", bases, 29515, md5("25c81989df183df01b3e8a0aad5dffbe")),
           file("t10k-images-idx3-ubyte.gz", bases, 4422102, md5("bef4ecab320f06d8554ea6380940ec79")),
           file("t10k-labels-idx1-ubyte.gz", bases, 5148, md5("bb300cfdad3c16e7a12a480ee83cd310"))},
          "evener train mlp:784-256-10 --data {}"};
}

CatalogueEntry cifar10() {
  constexpr std::uint64_t kBatchBytes = 10000 * (1 + 3072);
  CatalogueFile archive =
      file("cifar-10-binary.tar.gz", {"https://www.cs.toronto.edu/~kriz/", "https://cave.cs.toronto.edu/kriz/"},
           170052171, md5("c32a1d4ab5d03f1284b67883e8d87530"));
  for (const char* batch : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                            "data_batch_5.bin", "test_batch.bin"}) {
    archive.members.push_back({batch, kBatchBytes});
  }
  archive.members.push_back({"batches.meta.txt", 61});
  return {
      "cifar10", "60000 photos, 32x32 colour, 10 classes", "none stated", {archive}, "evener train resnet18 --data {}"};
}

/// Weights of torchvision with the names of ImageNet's classes beside them. The file's name has the beginning of its
/// SHA-256; the whole one is given where it is known.
CatalogueEntry torchvision(const std::string& name, const std::string& model, const std::string& what,
                           const std::string& stem, std::optional<std::uint64_t> bytes, const char* hex) {
  const CatalogueFile weights{
      stem + ".pth", {"https://download.pytorch.org/models/" + stem + ".pth"}, bytes, sha256(hex), {}};
  const std::string hub = "https://raw.githubusercontent.com/pytorch/hub/";
  const CatalogueFile classes{
      stem + ".classes.txt",
      {hub + "c7895df70c7767403e36f82786d6b611b7984557/imagenet_classes.txt", hub + "master/imagenet_classes.txt"},
      10472,
      sha256("1f386e0d1cb6e28b9c2dac651c3dea6801e98ad1b41a14ce6bb1a093d72069f5"),
      {}};
  return {name,
          what + ", weights for 1000 classes of ImageNet, 224x224 colour",
          "BSD-3 (torchvision)",
          {weights, classes},
          "evener infer " + model + " --weights {}/" + stem + ".pth PHOTOS"};
}

/// A detector of torchvision. Only the beginning of its SHA-256, which the file's name has, is known.
CatalogueEntry coco_detector() {
  const std::string model = "ssdlite320_mobilenet_v3_large", stem = model + "_coco-a79551df";
  return {model + "-coco",
          "SSDLite on MobileNetV3-Large, weights for 80 classes of COCO, 320x320 colour",
          "BSD-3 (torchvision)",
          {{stem + ".pth", {"https://download.pytorch.org/models/" + stem + ".pth"}, {}, sha256("a79551df"), {}}},
          "evener detect " + model + " --weights {}/" + stem + ".pth PHOTOS"};
}

CatalogueEntry mtcnn() {
  const std::vector<std::string> bases = {
      "https://raw.githubusercontent.com/timesler/facenet-pytorch/"
      "787da06156087cd6b616fe6608213722bddc30cd/data/"};
  return {"mtcnn",
          "MTCNN, weights that find faces, of facenet-pytorch",
          "MIT",
          {file("pnet.pt", bases, 28570, sha256("a2a71925e0b9996a42f63e47efc1ca19043e69558b5c523b978d611dfae49c8f")),
           file("rnet.pt", bases, 403147, sha256("bbb937de72efc9ef83b186c49f5f558467a1d7e3453a8ece0d71a886633f6a86")),
           file("onet.pt", bases, 1559269, sha256("165bfbe42940416ccfb977545cf0e976d5bf321f67083ae2aaaa5c764280118d"))},
          "evener faces PHOTOS --detector-weights {}"};
}

CatalogueEntry facenet() {
  const std::string name = "20180402-114759-vggface2.pt";
  return {"facenet",
          "FaceNet (Inception-ResNet v1, trained on VGGFace2), weights that tell faces apart, of facenet-pytorch",
          "MIT",
          {{name,
            {"https://github.com/timesler/facenet-pytorch/releases/download/v2.2.9/" + name},
            111898327,
            sha256("281cebca8662831adb987a874bdcb36e73f5b1c6dc5ee5878f305e985625d99b"),
            {}}},
          "evener faces PHOTOS --detector-weights mtcnn --weights {}/" + name};
}

}  // namespace

const std::vector<CatalogueEntry>& fetch_catalogue() {
  static const std::vector<CatalogueEntry> entries = {
      mnist(),
      fashion_mnist(),
      cifar10(),
      torchvision("resnet18-imagenet", "resnet18", "ResNet-18", "resnet18-f37072fd", 46830571,
                  "f37072fd47e89c5e827621c5baffa7500819f7896bbacec160b1a16c560e07ec"),
      torchvision("resnet34-imagenet", "resnet34", "ResNet-34", "resnet34-b627a593", 87319819,
                  "b627a593bcbe140c234610266fe4f8ae95ea42fc881d091c9b6052e6b1d0590f"),
      torchvision("mobilenet_v2-imagenet", "mobilenet_v2", "MobileNetV2", "mobilenet_v2-7ebf99e0", 14258573,
                  "7ebf99e03e254b273379b23edca7ec0da9f48273b23a332b93c1c99d49e86e8f"),
      torchvision("mobilenet_v2-imagenet-v1", "mobilenet_v2", "MobileNetV2 (older)", "mobilenet_v2-b0353104",
                  std::nullopt, "b0353104"),
      torchvision("resnet50-imagenet", "resnet50", "ResNet-50", "resnet50-0676ba61", std::nullopt, "0676ba61"),
      torchvision("mobilenet_v3_large-imagenet", "mobilenet_v3_large", "MobileNetV3-Large",
                  "mobilenet_v3_large-8738ca79", std::nullopt, "8738ca79"),
      torchvision("efficientnet_b0-imagenet", "efficientnet_b0", "EfficientNet-B0",
                  "efficientnet_b0_rwightman-7f5810bc", std::nullopt, "7f5810bc"),
      coco_detector(),
      mtcnn(),
      facenet(),
  };
  return entries;
}

const CatalogueEntry& catalogue_entry(const std::string& name) {
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : fetch_catalogue()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw UsageError(unknown_name_message("data set", name, names));
}

std::string checksums_text(const CatalogueEntry& entry) {
  std::string partly;
  for (const CatalogueFile& file : entry.files) {
    const std::size_t known = file.checksum.hex.size(), whole = file.checksum.kind == ChecksumKind::kMd5 ? 32 : 64;
    if (known == whole) continue;
    partly += "; of the " + std::string(checksum_name(file.checksum.kind)) + " of '" + file.name + "' only " +
              std::to_string(known) + " of " + std::to_string(whole) +
              " digits are known, which tells of damage and not of forgery: they are right";
  }
  const bool all_partly = static_cast<std::size_t>(std::count(partly.begin(), partly.end(), ';')) == entry.files.size();
  return all_partly ? partly.substr(2)
                    : (partly.empty() ? "its checksums are right" : "its other checksums are right" + partly);
}

std::uint64_t final_bytes(const CatalogueEntry& entry) {
  std::uint64_t total = 0;
  for (const CatalogueFile& file : entry.files) {
    if (file.members.empty()) total += file.bytes.value_or(0);
    for (const ArchiveMember& member : file.members) total += member.bytes;
  }
  return total;
}

}  // namespace evener::data
