// Ask sigstore-js about one DSSE envelope, with a public key that is given, and no log, time stamp or certificate.
//
//   node verify.mjs KEY.pub.pem < ENVELOPE
//
// Ends with 0 where its Verifier accepts, 1 where it refuses. What the statement is about is not its question: compare the digests.
import { createPublicKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { bundleFromJSON } from "@sigstore/bundle";
import { Verifier, toSignedEntity, toTrustMaterial } from "@sigstore/verify";

const key = createPublicKey(readFileSync(process.argv[2]));
const envelope = JSON.parse(readFileSync(0, "utf8"));
const bundle = bundleFromJSON({
  mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
  verificationMaterial: { publicKey: { hint: "given" }, tlogEntries: [] },
  dsseEnvelope: envelope,
});
const nothing = { mediaType: "", tlogs: [], certificateAuthorities: [], ctlogs: [], timestampAuthorities: [] };
const trusted = toTrustMaterial(nothing, () => ({ publicKey: key, validFor: () => true }));
try {
  new Verifier(trusted, { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 }).verify(
    toSignedEntity(bundle, ...(process.argv[3] ? [readFileSync(process.argv[3])] : [])),
  );
} catch (error) {
  console.log(`refused: ${error.message}`);
  process.exit(1);
}
console.log("accepted");
