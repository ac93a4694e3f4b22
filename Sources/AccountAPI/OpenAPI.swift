import HTTPTypes
import JSON

/// The description of Concord's own routes (OpenAPI 3.1), as it is served at `/openapi.json`. `docs/openapi.json` is the
/// same text; a test compares the two, and checks every answer of the routes against it.
enum OpenAPI {
    static let path = "/openapi.json"

    static let text = #"""
        {
          "openapi": "3.1.0",
          "info": {
            "title": "Concord",
            "version": "1",
            "summary": "Conflicts of sign-in methods, from the refusal to the linked account.",
            "description": "A conflict opens when somebody signs in with a provider's credential that may not be applied to the account it concerns. It is named by its handle, the pendingToken of the compatible API, which is a secret and is presented like one. Failures are problem documents (RFC 9457)."
          },
          "security": [{"handle": []}],
          "paths": {
            "/concord/v1/conflict": {
              "get": {
                "operationId": "readConflict",
                "summary": "What the holder of the handle may know. With the token of a proof, also how the owner can sign in.",
                "parameters": [
                  {
                    "name": "Concord-Proof",
                    "in": "header",
                    "description": "The proofToken that was handed out for the proof.",
                    "schema": {"type": "string"}
                  }
                ],
                "responses": {
                  "200": {"$ref": "#/components/responses/Conflict"},
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/conflict/proof": {
              "post": {
                "operationId": "startConflictProof",
                "summary": "Mails a link and a code to the owner of the account, or takes a session of the account as the proof.",
                "parameters": [{"$ref": "#/components/parameters/IfMatch"}],
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": {
                        "type": "object",
                        "required": ["kind"],
                        "properties": {
                          "kind": {"$ref": "#/components/schemas/ProofKind"},
                          "idToken": {
                            "type": "string",
                            "description": "With kind session: an ID token of the account, from a recent sign-in."
                          }
                        }
                      }
                    }
                  }
                },
                "responses": {
                  "200": {"$ref": "#/components/responses/ProvenConflict"},
                  "202": {"$ref": "#/components/responses/Conflict"},
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/conflict/proof:complete": {
              "post": {
                "operationId": "completeConflictProof",
                "summary": "Takes what was mailed: the code, or the secret of the link.",
                "parameters": [{"$ref": "#/components/parameters/IfMatch"}],
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": {
                        "type": "object",
                        "description": "Exactly one of the two.",
                        "properties": {
                          "code": {"type": "string", "description": "Eight digits; spaces and hyphens do not count."},
                          "linkSecret": {"type": "string", "description": "What stands behind proof= in the link."}
                        }
                      }
                    }
                  }
                },
                "responses": {
                  "200": {"$ref": "#/components/responses/ProvenConflict"},
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/conflict:resolve": {
              "post": {
                "operationId": "resolveConflict",
                "summary": "Links the credential and signs the owner in, in one step.",
                "parameters": [{"$ref": "#/components/parameters/IfMatch"}],
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": {
                        "type": "object",
                        "required": ["proofToken"],
                        "properties": {"proofToken": {"type": "string"}}
                      }
                    }
                  }
                },
                "responses": {
                  "200": {
                    "description": "Signed in, with the credential linked.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/SignedIn"}}}
                  },
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/conflict:decline": {
              "post": {
                "operationId": "declineConflict",
                "summary": "Turns the conflict down: nobody can use its credential any more.",
                "parameters": [{"$ref": "#/components/parameters/IfMatch"}],
                "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
                "responses": {
                  "200": {"$ref": "#/components/responses/Conflict"},
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/webhooks": {
              "get": {
                "operationId": "listWebhooks",
                "summary": "Every endpoint that events are sent to.",
                "security": [{"administrator": []}],
                "responses": {
                  "200": {
                    "description": "The endpoints.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Webhooks"}}}
                  },
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              },
              "post": {
                "operationId": "addWebhook",
                "summary": "Adds an endpoint. Its secret is told now and never again.",
                "security": [{"administrator": []}],
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": {"type": "object", "required": ["url"], "properties": {"url": {"type": "string"}}}
                    }
                  }
                },
                "responses": {
                  "200": {
                    "description": "Added.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/WebhookSecret"}}}
                  },
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/webhooks/{id}": {
              "delete": {
                "operationId": "deleteWebhook",
                "summary": "Deletes an endpoint, with what waits for it.",
                "security": [{"administrator": []}],
                "parameters": [{"$ref": "#/components/parameters/WebhookID"}],
                "responses": {
                  "200": {
                    "description": "Deleted.",
                    "content": {"application/json": {"schema": {"type": "object", "additionalProperties": false}}}
                  },
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/webhooks/{id}/secret": {
              "post": {
                "operationId": "rotateWebhookSecret",
                "summary": "Makes another secret. For a day both sign.",
                "security": [{"administrator": []}],
                "parameters": [{"$ref": "#/components/parameters/WebhookID"}],
                "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
                "responses": {
                  "200": {
                    "description": "The new secret.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/WebhookSecret"}}}
                  },
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/webhooks/{id}/enable": {
              "post": {
                "operationId": "enableWebhook",
                "summary": "Has an endpoint that is off be sent to again.",
                "security": [{"administrator": []}],
                "parameters": [{"$ref": "#/components/parameters/WebhookID"}],
                "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
                "responses": {
                  "200": {
                    "description": "Enabled.",
                    "content": {"application/json": {"schema": {"type": "object", "additionalProperties": false}}}
                  },
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/webhooks/{id}/failures": {
              "get": {
                "operationId": "listFailedWebhooks",
                "summary": "The newest messages that were given up, a hundred at most.",
                "security": [{"administrator": []}],
                "parameters": [{"$ref": "#/components/parameters/WebhookID"}],
                "responses": {
                  "200": {
                    "description": "The messages.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/FailedWebhooks"}}}
                  },
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            }
          },
          "components": {
            "securitySchemes": {
              "administrator": {
                "type": "http",
                "scheme": "bearer",
                "description": "An access token of a service account."
              },
              "handle": {
                "type": "http",
                "scheme": "bearer",
                "description": "The handle of a conflict: pendingToken in the answer of accounts:signInWithIdp."
              }
            },
            "parameters": {
              "WebhookID": {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}},
              "IfMatch": {
                "name": "If-Match",
                "in": "header",
                "description": "The entity tag of the conflict as it was read; the request is refused when it has changed since.",
                "schema": {"type": "string"}
              }
            },
            "responses": {
              "Conflict": {
                "description": "The conflict.",
                "headers": {"ETag": {"description": "The conflict's version.", "schema": {"type": "string"}}},
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Conflict"}}}
              },
              "ProvenConflict": {
                "description": "The conflict is proven.",
                "headers": {"ETag": {"description": "The conflict's version.", "schema": {"type": "string"}}},
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ProvenConflict"}}}
              },
              "Problem": {
                "description": "Why not.",
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
              }
            },
            "schemas": {
              "Webhooks": {
                "type": "object",
                "required": ["webhooks"],
                "additionalProperties": false,
                "properties": {"webhooks": {"type": "array", "items": {"$ref": "#/components/schemas/Webhook"}}}
              },
              "Webhook": {
                "type": "object",
                "required": ["id", "url", "state", "createTime", "waiting", "failed"],
                "additionalProperties": false,
                "properties": {
                  "id": {"type": "string"},
                  "url": {"type": "string"},
                  "state": {
                    "type": "string",
                    "description": "Nothing is sent to one that said it is gone, or that has failed for five days.",
                    "enum": ["enabled", "gone", "failing"]
                  },
                  "createTime": {"type": "string", "format": "date-time"},
                  "failingSince": {"type": "string", "format": "date-time"},
                  "waiting": {"type": "integer", "minimum": 0},
                  "failed": {"type": "integer", "minimum": 0}
                }
              },
              "WebhookSecret": {
                "type": "object",
                "required": ["id", "secret"],
                "additionalProperties": false,
                "properties": {
                  "id": {"type": "string"},
                  "secret": {"type": "string", "description": "whsec_ and base64 (Standard Webhooks)."}
                }
              },
              "FailedWebhooks": {
                "type": "object",
                "required": ["failures"],
                "additionalProperties": false,
                "properties": {"failures": {"type": "array", "items": {"$ref": "#/components/schemas/FailedWebhook"}}}
              },
              "FailedWebhook": {
                "type": "object",
                "required": ["id", "type", "userId", "timestamp", "attempts"],
                "additionalProperties": false,
                "properties": {
                  "id": {"type": "string", "description": "The webhook-id it was sent under."},
                  "type": {"type": "string"},
                  "userId": {"type": "string"},
                  "timestamp": {"type": "string", "format": "date-time"},
                  "attempts": {"type": "integer", "minimum": 1},
                  "lastStatus": {"type": "integer", "description": "Absent where no answer came."}
                }
              },
              "ProofKind": {
                "type": "string",
                "enum": ["mailbox", "session"]
              },
              "Conflict": {
                "type": "object",
                "required": ["state", "kind", "providerId", "openTime", "expireTime"],
                "additionalProperties": false,
                "properties": {
                  "state": {
                    "type": "string",
                    "enum": ["open", "proven", "resolved", "declined", "expired", "superseded"]
                  },
                  "kind": {
                    "type": "string",
                    "enum": [
                      "account-exists-with-different-credential", "credential-already-in-use", "email-already-in-use"
                    ]
                  },
                  "providerId": {"type": "string", "description": "The provider the credential is of."},
                  "email": {"type": "string", "description": "The address the provider named, masked: a***@e***.com."},
                  "openTime": {"type": "string", "format": "date-time"},
                  "expireTime": {"type": "string", "format": "date-time"},
                  "proof": {"$ref": "#/components/schemas/Proof"},
                  "signInMethods": {
                    "type": "array",
                    "description": "How the owner of the account can sign in. Only for who proved to be the owner.",
                    "items": {"type": "string"}
                  }
                }
              },
              "Proof": {
                "type": "object",
                "description": "The proof that is under way or was given.",
                "required": ["kind", "attemptsLeft", "expireTime"],
                "additionalProperties": false,
                "properties": {
                  "kind": {"$ref": "#/components/schemas/ProofKind"},
                  "attemptsLeft": {"type": "integer", "minimum": 0, "maximum": 5},
                  "expireTime": {"type": "string", "format": "date-time"}
                }
              },
              "ProvenConflict": {
                "type": "object",
                "required": ["conflict", "proofToken"],
                "additionalProperties": false,
                "properties": {
                  "conflict": {"$ref": "#/components/schemas/Conflict"},
                  "proofToken": {
                    "type": "string",
                    "description": "Settles this conflict, for whoever has it, until the proof expires."
                  }
                }
              },
              "SignedIn": {
                "type": "object",
                "required": ["localId", "idToken", "refreshToken", "expiresIn"],
                "additionalProperties": false,
                "properties": {
                  "localId": {"type": "string"},
                  "idToken": {"type": "string"},
                  "refreshToken": {"type": "string"},
                  "expiresIn": {"type": "string", "description": "Seconds until the ID token expires, in decimal."}
                }
              },
              "Problem": {
                "type": "object",
                "required": ["type", "title", "status"],
                "additionalProperties": false,
                "properties": {
                  "type": {
                    "type": "string",
                    "enum": [
                      "urn:concord:problem:conflict-closed",
                      "urn:concord:problem:conflict-expired",
                      "urn:concord:problem:conflict-unknown",
                      "urn:concord:problem:content-too-large",
                      "urn:concord:problem:identity-in-use",
                      "urn:concord:problem:insufficient-user-authentication",
                      "urn:concord:problem:internal-error",
                      "urn:concord:problem:invalid-session",
                      "urn:concord:problem:malformed-request",
                      "urn:concord:problem:not-found",
                      "urn:concord:problem:precondition-failed",
                      "urn:concord:problem:proof-expired",
                      "urn:concord:problem:proof-required",
                      "urn:concord:problem:proof-stale",
                      "urn:concord:problem:provider-already-linked",
                      "urn:concord:problem:provider-disabled",
                      "urn:concord:problem:refused",
                      "urn:concord:problem:second-factor-required",
                      "urn:concord:problem:too-many-attempts",
                      "urn:concord:problem:unavailable",
                      "urn:concord:problem:user-disabled",
                      "urn:concord:problem:wrong-proof"
                    ]
                  },
                  "title": {"type": "string"},
                  "status": {"type": "integer", "minimum": 400, "maximum": 599},
                  "detail": {"type": "string", "description": "For developers."},
                  "maxAge": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "How many seconds old a sign-in may be (RFC 9470)."
                  }
                }
              }
            }
          }
        }

        """#
}

extension Route {
    /// The description of Concord's own routes.
    static let openAPI = Route(.get, OpenAPI.path, service: .none, access: .anyone) { _ in
        APIResponse(json: Array(OpenAPI.text.utf8), maxAgeSeconds: 3600)
    }
}
