#include "data/fetch/web_module/digest.h"

#include <openssl/evp.h>

#include "base/error.h"

namespace evener::data::fetch_module {
namespace {

class EvpDigest : public Digest {
 public:
  explicit EvpDigest(ChecksumKind kind) : context_(EVP_MD_CTX_new()) {
    const EVP_MD* type = kind == ChecksumKind::kMd5 ? EVP_md5() : EVP_sha256();
    if (context_ && EVP_DigestInit_ex(context_.get(), type, nullptr) == 1) return;
    // A system in FIPS mode has no MD5.
    throw Error(std::string("libcrypto can't compute ") + (kind == ChecksumKind::kMd5 ? "MD5" : "SHA-256") +
                " on this system; check the file by hand");
  }

  void add(std::string_view bytes) override {
    if (EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1) throw Error("libcrypto: a checksum failed");
  }

  std::string hex() override {
    unsigned char value[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (EVP_DigestFinal_ex(context_.get(), value, &size) != 1) throw Error("libcrypto: a checksum failed");
    std::string text;
    for (unsigned i = 0; i < size; ++i) {
      text += "0123456789abcdef"[value[i] >> 4];
      text += "0123456789abcdef"[value[i] & 15];
    }
    return text;
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

}  // namespace

std::unique_ptr<Digest> make_digest(ChecksumKind kind) {
  return std::make_unique<EvpDigest>(kind);
}

}  // namespace evener::data::fetch_module
