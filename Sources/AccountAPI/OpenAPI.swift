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
            "summary": "Conflicts of sign-in methods, from the refusal to the linked account; the methods of one's own account.",
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
                "parameters": [
                  {"$ref": "#/components/parameters/IfMatch"},
                  {"$ref": "#/components/parameters/IdempotencyKey"}
                ],
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
                "parameters": [
                  {"$ref": "#/components/parameters/IfMatch"},
                  {"$ref": "#/components/parameters/IdempotencyKey"}
                ],
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
                "parameters": [
                  {"$ref": "#/components/parameters/IfMatch"},
                  {"$ref": "#/components/parameters/IdempotencyKey"}
                ],
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
            "/concord/v1/emailCode:disown": {
              "post": {
                "operationId": "disownAccount",
                "summary": "Takes an account from the person who made it: the reader of the mailbox says that it is not theirs.",
                "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": {
                        "type": "object",
                        "required": ["oobCode"],
                        "properties": {
                          "oobCode": {"type": "string", "description": "Of a VERIFY_EMAIL mail; used up by it."}
                        }
                      }
                    }
                  }
                },
                "responses": {
                  "200": {
                    "description": "Every session has ended, and nobody gets in but by the mailbox.",
                    "content": {
                      "application/json": {
                        "schema": {
                          "type": "object",
                          "required": ["email", "suspended", "gaveAddressUp"],
                          "additionalProperties": false,
                          "properties": {
                            "email": {"type": "string", "description": "Where the mail went."},
                            "suspended": {
                              "type": "array",
                              "description": "The methods that this suspended.",
                              "items": {"$ref": "#/components/schemas/Suspension"}
                            },
                            "gaveAddressUp": {
                              "type": "boolean",
                              "description": "true: the account asks for a second factor, so that it lost the address instead of going to its owner."
                            }
                          }
                        }
                      }
                    }
                  },
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/shortCode:exchange": {
              "post": {
                "operationId": "exchangeShortCode",
                "summary": "Takes the short code of a mail for a code that does what the link in it does.",
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": {
                        "type": "object",
                        "required": ["requestType", "email", "code"],
                        "properties": {
                          "requestType": {"$ref": "#/components/schemas/MailKind"},
                          "email": {"type": "string", "description": "Where the mail went."},
                          "code": {"type": "string", "description": "Eight digits; spaces and hyphens do not count."}
                        }
                      }
                    }
                  }
                },
                "responses": {
                  "200": {
                    "description": "Exchanged: the mailed link and code are worth nothing any more.",
                    "content": {
                      "application/json": {
                        "schema": {
                          "type": "object",
                          "required": ["requestType", "oobCode", "oobLink"],
                          "properties": {
                            "requestType": {"$ref": "#/components/schemas/MailKind"},
                            "oobCode": {"type": "string", "description": "For the compatible API, once."},
                            "oobLink": {"type": "string", "description": "The page that uses it."}
                          }
                        }
                      }
                    }
                  },
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/conflict:decline": {
              "post": {
                "operationId": "declineConflict",
                "summary": "Turns the conflict down: nobody can use its credential any more.",
                "parameters": [
                  {"$ref": "#/components/parameters/IfMatch"},
                  {"$ref": "#/components/parameters/IdempotencyKey"}
                ],
                "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
                "responses": {
                  "200": {"$ref": "#/components/responses/Conflict"},
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/reauthentication-policy": {
              "get": {
                "operationId": "readReauthenticationPolicy",
                "summary": "How recent a sign-in each sensitive operation wants, here and on the compatible routes.",
                "security": [],
                "responses": {
                  "200": {
                    "description": "The policy.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ReauthenticationPolicy"}}}
                  },
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/account/methods": {
              "get": {
                "operationId": "readAccountMethods",
                "summary": "Every sign-in method of the session's account, how it was proven, and whether it works now.",
                "security": [{"session": []}],
                "responses": {
                  "200": {"$ref": "#/components/responses/AccountMethods"},
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/account/methods/{method}": {
              "delete": {
                "operationId": "removeAccountMethod",
                "summary": "Takes a method off the session's account. The last one that works stays. Wants a recent sign-in.",
                "security": [{"session": []}],
                "parameters": [
                  {
                    "name": "method",
                    "in": "path",
                    "required": true,
                    "description": "password, emailLink, phone, or the id of a provider.",
                    "schema": {"type": "string"}
                  },
                  {"$ref": "#/components/parameters/IfMatch"},
                  {"$ref": "#/components/parameters/IdempotencyKey"}
                ],
                "responses": {
                  "200": {"$ref": "#/components/responses/AccountMethods"},
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/account/sessions": {
              "get": {
                "operationId": "listAccountSessions",
                "summary": "Where the user of the session's account is signed in; with the first page, the sign-ins that were refused.",
                "security": [{"session": []}],
                "parameters": [
                  {"$ref": "#/components/parameters/SessionPageSize"},
                  {"$ref": "#/components/parameters/SessionPageToken"}
                ],
                "responses": {
                  "200": {"$ref": "#/components/responses/Sessions"},
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              },
              "delete": {
                "operationId": "endAccountSessions",
                "summary": "Ends every session of the account and revokes every ID token.",
                "security": [{"session": []}],
                "parameters": [
                  {
                    "name": "keepCurrent",
                    "in": "query",
                    "description": "With true, the session that asks goes on. ID tokens of the others are refused by Concord, and expire elsewhere.",
                    "schema": {"type": "boolean", "default": false}
                  },
                  {"$ref": "#/components/parameters/IfMatch"},
                  {"$ref": "#/components/parameters/IdempotencyKey"}
                ],
                "responses": {
                  "200": {"$ref": "#/components/responses/EndedSessions"},
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/account/sessions/{session}": {
              "delete": {
                "operationId": "endAccountSession",
                "summary": "Ends one session. Its ID tokens are refused by Concord, and expire elsewhere within an hour.",
                "security": [{"session": []}],
                "parameters": [
                  {
                    "name": "session",
                    "in": "path",
                    "required": true,
                    "description": "The sessionId of the list.",
                    "schema": {"type": "string"}
                  },
                  {"$ref": "#/components/parameters/IfMatch"},
                  {"$ref": "#/components/parameters/IdempotencyKey"}
                ],
                "responses": {
                  "200": {"$ref": "#/components/responses/EndedSessions"},
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/sessions": {
              "get": {
                "operationId": "listSessions",
                "summary": "Where the user of an account is signed in; with the first page, the sign-ins that were refused.",
                "security": [{"operator": []}],
                "parameters": [
                  {"name": "localId", "in": "query", "required": true, "schema": {"type": "string"}},
                  {"$ref": "#/components/parameters/SessionPageSize"},
                  {"$ref": "#/components/parameters/SessionPageToken"}
                ],
                "responses": {
                  "200": {"$ref": "#/components/responses/Sessions"},
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/account/quarantine": {
              "get": {
                "operationId": "readQuarantine",
                "summary": "What a takeover or a reset took off the session's account and can come back: a provider by being linked again.",
                "security": [{"session": []}],
                "responses": {
                  "200": {"$ref": "#/components/responses/Quarantine"},
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/account/quarantine/password:restore": {
              "post": {
                "operationId": "restorePassword",
                "summary": "Makes the suspended password the account's again, for whoever knows it. Wants a recent sign-in.",
                "security": [{"session": []}],
                "parameters": [
                  {"$ref": "#/components/parameters/IfMatch"},
                  {"$ref": "#/components/parameters/IdempotencyKey"}
                ],
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": {
                        "type": "object",
                        "required": ["password"],
                        "properties": {
                          "password": {"type": "string"},
                          "deviceSecret": {
                            "type": "string",
                            "description": "From an earlier sign-in: keeps wrong passwords of others from holding it off."
                          }
                        }
                      }
                    }
                  }
                },
                "responses": {
                  "200": {"$ref": "#/components/responses/AccountMethods"},
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/account/quarantine/{method}": {
              "delete": {
                "operationId": "discardQuarantined",
                "summary": "Gives a suspended method up before its time is over. Wants a recent sign-in.",
                "security": [{"session": []}],
                "parameters": [
                  {
                    "name": "method",
                    "in": "path",
                    "required": true,
                    "description": "password, phone, or the id of a provider.",
                    "schema": {"type": "string"}
                  },
                  {"$ref": "#/components/parameters/IfMatch"},
                  {"$ref": "#/components/parameters/IdempotencyKey"}
                ],
                "responses": {
                  "200": {"$ref": "#/components/responses/Quarantine"},
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/providers/{provider}:disable": {
              "post": {
                "operationId": "disableProvider",
                "summary": "Switches a registered provider off, unless that locks users out.",
                "security": [{"operator": []}],
                "parameters": [
                  {"name": "provider", "in": "path", "required": true, "schema": {"type": "string"}},
                  {"$ref": "#/components/parameters/IdempotencyKey"}
                ],
                "requestBody": {
                  "content": {
                    "application/json": {
                      "schema": {
                        "type": "object",
                        "properties": {
                          "force": {"type": "boolean", "description": "Whether it is switched off all the same."}
                        }
                      }
                    }
                  }
                },
                "responses": {
                  "200": {
                    "description": "The provider is off.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/DisabledProvider"}}}
                  },
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/conflicts": {
              "get": {
                "operationId": "listConflicts",
                "summary": "Conflicts of all accounts or of one, the ones opened last first.",
                "security": [{"operator": []}],
                "parameters": [
                  {
                    "name": "state",
                    "in": "query",
                    "schema": {
                      "type": "string",
                      "enum": ["open", "proven", "resolved", "declined", "superseded", "expired"]
                    }
                  },
                  {"name": "localId", "in": "query", "schema": {"type": "string"}},
                  {"name": "providerId", "in": "query", "schema": {"type": "string"}},
                  {
                    "name": "kind",
                    "in": "query",
                    "schema": {
                      "type": "string",
                      "enum": [
                        "account-exists-with-different-credential", "credential-already-in-use", "email-already-in-use"
                      ]
                    }
                  },
                  {
                    "name": "openedSince",
                    "in": "query",
                    "description": "Opened at that time or later.",
                    "schema": {"type": "string", "format": "date-time"}
                  },
                  {
                    "name": "openedBefore",
                    "in": "query",
                    "description": "Opened before that time.",
                    "schema": {"type": "string", "format": "date-time"}
                  },
                  {
                    "name": "pageSize",
                    "in": "query",
                    "schema": {"type": "integer", "minimum": 1, "maximum": 500, "default": 50}
                  },
                  {
                    "name": "pageToken",
                    "in": "query",
                    "description": "nextPageToken of the page before.",
                    "schema": {"type": "string"}
                  }
                ],
                "responses": {
                  "200": {
                    "description": "The conflicts.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ReportedConflicts"}}}
                  },
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/conflicts/{id}": {
              "get": {
                "operationId": "readReportedConflict",
                "summary": "A conflict, for operators.",
                "security": [{"operator": []}],
                "parameters": [{"$ref": "#/components/parameters/ConflictID"}],
                "responses": {
                  "200": {"$ref": "#/components/responses/ReportedConflict"},
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/conflicts/{id}/decline": {
              "post": {
                "operationId": "declineReportedConflict",
                "summary": "Turns a conflict down without a handle: nobody can use its credential any more.",
                "security": [{"operator": []}],
                "parameters": [
                  {"$ref": "#/components/parameters/ConflictID"},
                  {"$ref": "#/components/parameters/IfMatch"}
                ],
                "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
                "responses": {
                  "200": {"$ref": "#/components/responses/ReportedConflict"},
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/webhooks": {
              "get": {
                "operationId": "listWebhooks",
                "summary": "Every endpoint that events are sent to.",
                "security": [{"operator": []}],
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
                "summary": "Adds an endpoint. Its secret is told now and, but to a repeated request, never again.",
                "security": [{"operator": []}],
                "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
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
              "get": {
                "operationId": "readWebhook",
                "summary": "An endpoint.",
                "security": [{"operator": []}],
                "parameters": [{"$ref": "#/components/parameters/WebhookID"}],
                "responses": {
                  "200": {
                    "description": "The endpoint.",
                    "headers": {"ETag": {"description": "Its version.", "schema": {"type": "string"}}},
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Webhook"}}}
                  },
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              },
              "delete": {
                "operationId": "deleteWebhook",
                "summary": "Deletes an endpoint, with what waits for it.",
                "security": [{"operator": []}],
                "parameters": [
                  {"$ref": "#/components/parameters/WebhookID"},
                  {"$ref": "#/components/parameters/IfMatch"},
                  {"$ref": "#/components/parameters/IdempotencyKey"}
                ],
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
                "security": [{"operator": []}],
                "parameters": [
                  {"$ref": "#/components/parameters/WebhookID"},
                  {"$ref": "#/components/parameters/IfMatch"},
                  {"$ref": "#/components/parameters/IdempotencyKey"}
                ],
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
                "security": [{"operator": []}],
                "parameters": [
                  {"$ref": "#/components/parameters/WebhookID"},
                  {"$ref": "#/components/parameters/IfMatch"},
                  {"$ref": "#/components/parameters/IdempotencyKey"}
                ],
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
                "security": [{"operator": []}],
                "parameters": [{"$ref": "#/components/parameters/WebhookID"}],
                "responses": {
                  "200": {
                    "description": "The messages.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/FailedWebhooks"}}}
                  },
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/merges": {
              "get": {
                "operationId": "listMerges",
                "summary": "What became of a uid: the account it is now, where it is another, and the newest merges it was part of, a hundred at most.",
                "security": [{"operator": []}],
                "parameters": [{"name": "uid", "in": "query", "required": true, "schema": {"type": "string"}}],
                "responses": {
                  "200": {
                    "description": "The merges.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Merges"}}}
                  },
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              },
              "post": {
                "operationId": "mergeAccounts",
                "summary": "Makes two accounts one. For an operator, with a reason; or for whoever has a recent session of each: that of the account that stays in the Authorization field.",
                "security": [{"operator": []}, {"session": []}],
                "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": {
                        "type": "object",
                        "properties": {
                          "survivor": {"type": "string", "description": "An operator's: the uid of the account that stays."},
                          "absorbed": {"type": "string", "description": "An operator's: the uid of the account that goes."},
                          "reason": {
                            "type": "string",
                            "maxLength": 500,
                            "description": "An operator's: why both are one person's."
                          },
                          "absorbedIdToken": {"type": "string", "description": "An owner's: an ID token of the account that goes."},
                          "choices": {"$ref": "#/components/schemas/MergeChoices"},
                          "validateOnly": {"type": "boolean", "description": "Only tell what would come of it."}
                        }
                      }
                    }
                  }
                },
                "responses": {
                  "200": {
                    "description": "The merge, or with validateOnly its preview.",
                    "headers": {"ETag": {"description": "The merge's version.", "schema": {"type": "string"}}},
                    "content": {
                      "application/json": {
                        "schema": {
                          "anyOf": [
                            {"$ref": "#/components/schemas/Merge"},
                            {"$ref": "#/components/schemas/MergePreview"}
                          ]
                        }
                      }
                    }
                  },
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/merges/{id}": {
              "get": {
                "operationId": "readMerge",
                "summary": "A merge, for operators and whoever has a session of one of its accounts.",
                "security": [{"operator": []}, {"session": []}],
                "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
                "responses": {
                  "200": {
                    "description": "The merge.",
                    "headers": {"ETag": {"description": "The merge's version.", "schema": {"type": "string"}}},
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Merge"}}}
                  },
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/merges/{id}/abort": {
              "post": {
                "operationId": "abortMerge",
                "summary": "Says no to a merge that waits for the receivers of webhooks.",
                "security": [{"operator": []}],
                "parameters": [
                  {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}},
                  {"$ref": "#/components/parameters/IfMatch"}
                ],
                "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
                "responses": {
                  "200": {
                    "description": "Aborted.",
                    "headers": {"ETag": {"description": "The merge's version.", "schema": {"type": "string"}}},
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Merge"}}}
                  },
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/merges/{id}/undo": {
              "post": {
                "operationId": "undoMerge",
                "summary": "Makes two accounts of one again, as they were.",
                "security": [{"operator": []}],
                "parameters": [
                  {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}},
                  {"$ref": "#/components/parameters/IfMatch"}
                ],
                "requestBody": {
                  "content": {
                    "application/json": {
                      "schema": {
                        "type": "object",
                        "properties": {
                          "keepLaterChanges": {
                            "type": "boolean",
                            "description": "What was changed since stays, and everything else is put back."
                          },
                          "validateOnly": {"type": "boolean", "description": "Only tell what was changed since."}
                        }
                      }
                    }
                  }
                },
                "responses": {
                  "200": {
                    "description": "Undone; or with validateOnly, what was changed since.",
                    "headers": {"ETag": {"description": "The merge's version.", "schema": {"type": "string"}}},
                    "content": {
                      "application/json": {
                        "schema": {
                          "anyOf": [
                            {"$ref": "#/components/schemas/Merge"},
                            {"$ref": "#/components/schemas/LaterChanges"}
                          ]
                        }
                      }
                    }
                  },
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/decisions": {
              "get": {
                "operationId": "listDecisions",
                "summary": "What was decided about an account, the newest first.",
                "security": [{"operator": []}],
                "parameters": [
                  {"name": "localId", "in": "query", "required": true, "schema": {"type": "string"}},
                  {
                    "name": "pageSize",
                    "in": "query",
                    "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 50}
                  },
                  {
                    "name": "pageToken",
                    "in": "query",
                    "description": "nextPageToken of the page before.",
                    "schema": {"type": "string"}
                  }
                ],
                "responses": {
                  "200": {
                    "description": "The decisions.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Decisions"}}}
                  },
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/decisions/{decision}": {
              "get": {
                "operationId": "readDecision",
                "summary": "Why it was decided so, for operators; for clients, with their API key, what they could see then.",
                "security": [{"operator": []}, {"apiKey": []}],
                "parameters": [
                  {
                    "name": "decision",
                    "in": "path",
                    "required": true,
                    "description": "The name of a decision, from Concord-Decision in the answer that followed from it.",
                    "schema": {"type": "string", "format": "uuid"}
                  }
                ],
                "responses": {
                  "200": {
                    "description": "The decision.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Decision"}}}
                  },
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            },
            "/concord/v1/policy": {
              "get": {
                "operationId": "readPolicy",
                "summary": "Whose word about an address is proof, and what conflicts may be settled by: in force, or at a version.",
                "security": [{"operator": []}],
                "parameters": [
                  {
                    "name": "version",
                    "in": "query",
                    "description": "A version of the project's configuration; the one in force unless named.",
                    "schema": {"type": "integer", "minimum": 1}
                  }
                ],
                "responses": {
                  "200": {"$ref": "#/components/responses/Policy"},
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              },
              "put": {
                "operationId": "replacePolicy",
                "summary": "Replaces both tables as a whole, or names every mistake in them.",
                "security": [{"operator": []}],
                "parameters": [{"$ref": "#/components/parameters/IfMatch"}],
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": {
                        "type": "object",
                        "description": "A table that is left out is emptied.",
                        "properties": {
                          "emailTrust": {"type": "array", "items": {"$ref": "#/components/schemas/EmailTrustRule"}},
                          "conflictProofs": {"type": "array", "items": {"$ref": "#/components/schemas/ConflictProofRule"}}
                        }
                      }
                    }
                  }
                },
                "responses": {
                  "200": {"$ref": "#/components/responses/Policy"},
                  "default": {"$ref": "#/components/responses/Problem"}
                }
              }
            }
          },
          "components": {
            "securitySchemes": {
              "session": {
                "type": "http",
                "scheme": "bearer",
                "description": "The ID token of a session."
              },
              "apiKey": {"type": "apiKey", "in": "query", "name": "key", "description": "An API key of the project."},
              "operator": {
                "type": "http",
                "scheme": "bearer",
                "description": "The access token of a service account, as administrators of the compatible API use it."
              },
              "handle": {
                "type": "http",
                "scheme": "bearer",
                "description": "The handle of a conflict: pendingToken in the answer of accounts:signInWithIdp."
              }
            },
            "parameters": {
              "ConflictID": {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}},
              "WebhookID": {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}},
              "IdempotencyKey": {
                "name": "Idempotency-Key",
                "in": "header",
                "description": "Chosen by the client: 1 to 255 visible ASCII characters. A request that was applied and is sent again with it within a day is answered as it was, and not applied again. What is refused is not kept.",
                "schema": {"type": "string", "minLength": 1, "maxLength": 255}
              },
              "SessionPageSize": {
                "name": "pageSize",
                "in": "query",
                "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 50}
              },
              "SessionPageToken": {
                "name": "pageToken",
                "in": "query",
                "description": "nextPageToken of the page before.",
                "schema": {"type": "string"}
              },
              "IfMatch": {
                "name": "If-Match",
                "in": "header",
                "description": "The entity tag of what is to change, as it was read; the request is refused when it has changed since.",
                "schema": {"type": "string"}
              }
            },
            "responses": {
              "Conflict": {
                "description": "The conflict.",
                "headers": {"ETag": {"description": "The conflict's version.", "schema": {"type": "string"}}},
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Conflict"}}}
              },
              "AccountMethods": {
                "description": "The sign-in methods of the account.",
                "headers": {"ETag": {"description": "The account's version.", "schema": {"type": "string"}}},
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/AccountMethods"}}}
              },
              "Sessions": {
                "description": "The sessions, in no order that means anything.",
                "headers": {"ETag": {"description": "The account's version.", "schema": {"type": "string"}}},
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Sessions"}}}
              },
              "EndedSessions": {
                "description": "The sessions are over.",
                "content": {
                  "application/json": {
                    "schema": {
                      "type": "object",
                      "required": ["ended"],
                      "additionalProperties": false,
                      "properties": {
                        "ended": {"type": "boolean", "description": "Whether there was one to end."}
                      }
                    }
                  }
                }
              },
              "Quarantine": {
                "description": "What is suspended.",
                "headers": {"ETag": {"description": "The account's version.", "schema": {"type": "string"}}},
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Quarantine"}}}
              },
              "ReportedConflict": {
                "description": "The conflict.",
                "headers": {"ETag": {"description": "The conflict's version.", "schema": {"type": "string"}}},
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ReportedConflict"}}}
              },
              "ProvenConflict": {
                "description": "The conflict is proven.",
                "headers": {"ETag": {"description": "The conflict's version.", "schema": {"type": "string"}}},
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ProvenConflict"}}}
              },
              "Policy": {
                "description": "The policy.",
                "headers": {"ETag": {"description": "The policy's version.", "schema": {"type": "string"}}},
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Policy"}}}
              },
              "Problem": {
                "description": "Why not.",
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
              }
            },
            "schemas": {
              "MailKind": {
                "type": "string",
                "enum": ["PASSWORD_RESET", "EMAIL_SIGNIN", "VERIFY_EMAIL", "VERIFY_AND_CHANGE_EMAIL"]
              },
              "MergeChoices": {
                "type": "object",
                "description": "Whose is taken, by the name of a field or a provider.",
                "additionalProperties": {"type": "string", "enum": ["survivor", "absorbed"]}
              },
              "Merges": {
                "type": "object",
                "required": ["merges"],
                "additionalProperties": false,
                "properties": {
                  "userId": {
                    "type": "string",
                    "description": "The account that the uid is now; absent where it is none or itself."
                  },
                  "merges": {"type": "array", "items": {"$ref": "#/components/schemas/Merge"}}
                }
              },
              "Merge": {
                "type": "object",
                "required": ["id", "state", "survivor", "absorbed", "choices", "askedBy", "prepareTime", "answerUntil"],
                "additionalProperties": false,
                "properties": {
                  "id": {"type": "string"},
                  "state": {"type": "string", "enum": ["prepared", "committed", "aborted", "undone"]},
                  "survivor": {"type": "string"},
                  "absorbed": {"type": "string"},
                  "choices": {"$ref": "#/components/schemas/MergeChoices"},
                  "askedBy": {"type": "string", "enum": ["administrator", "owners"]},
                  "reason": {"type": "string"},
                  "prepareTime": {"type": "string", "format": "date-time"},
                  "answerUntil": {
                    "type": "string",
                    "format": "date-time",
                    "description": "Until when the receivers of webhooks have to have agreed."
                  },
                  "endTime": {"type": "string", "format": "date-time", "description": "When it was committed or aborted."},
                  "abortReason": {"type": "string", "enum": ["vetoed", "timed-out", "accounts-changed", "withdrawn"]},
                  "undoUntil": {"type": "string", "format": "date-time"},
                  "undoTime": {"type": "string", "format": "date-time"},
                  "kept": {
                    "type": "array",
                    "description": "With an undo: what was changed since, and stays.",
                    "items": {"$ref": "#/components/schemas/LaterChange"}
                  }
                }
              },
              "MergePreview": {
                "type": "object",
                "required": ["survivor", "absorbed", "fields", "undecided", "movedSecondFactors", "endsSessions"],
                "additionalProperties": false,
                "properties": {
                  "survivor": {"type": "string"},
                  "absorbed": {"type": "string"},
                  "fields": {
                    "type": "array",
                    "items": {
                      "type": "object",
                      "required": ["field"],
                      "additionalProperties": false,
                      "properties": {
                        "field": {"type": "string"},
                        "survivor": {
                          "type": "string",
                          "description": "What the account that stays has; of a password, that there is one."
                        },
                        "absorbed": {"type": "string", "description": "What the account that goes has."},
                        "taken": {
                          "type": "string",
                          "description": "Whose of it the account has afterwards; absent where it has to be chosen.",
                          "enum": ["survivor", "absorbed"]
                        },
                        "value": {
                          "type": "string",
                          "description": "What the account has afterwards; absent where it has to be chosen, or is nothing."
                        },
                        "dropped": {
                          "type": "string",
                          "description": "Whose of it is lost; absent where nothing is.",
                          "enum": ["survivor", "absorbed"]
                        }
                      }
                    }
                  },
                  "undecided": {"type": "array", "description": "What has to be chosen first.", "items": {"type": "string"}},
                  "movedSecondFactors": {"type": "integer", "minimum": 0},
                  "endsSessions": {
                    "type": "boolean",
                    "description": "Whether every session of the account that stays ends, too."
                  },
                  "waiting": {
                    "description": "A merge that one of the accounts is in, and that waits: before it has ended there is no other.",
                    "$ref": "#/components/schemas/Merge"
                  }
                }
              },
              "LaterChanges": {
                "type": "object",
                "required": ["changes", "isPossible"],
                "additionalProperties": false,
                "properties": {
                  "changes": {"type": "array", "items": {"$ref": "#/components/schemas/LaterChange"}},
                  "isPossible": {
                    "type": "boolean",
                    "description": "Whether the merge would be undone, with keepLaterChanges as it was sent."
                  }
                }
              },
              "LaterChange": {
                "type": "object",
                "required": ["field", "userId", "canStay"],
                "additionalProperties": false,
                "properties": {
                  "field": {
                    "type": "string",
                    "description": "A field or a provider as in the preview of a merge, or account, emailLink, initialEmail, unprovenPhoneNumber, secondFactors, disabled, customTokens, createTime, other; never a value."
                  },
                  "userId": {"type": "string"},
                  "canStay": {"type": "boolean", "description": "Whether everything else can be put back all the same."}
                }
              },
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
                  },
                  "suspended": {
                    "type": "array",
                    "description": "The methods among them that settling the conflict now suspends. Only for who proved to be the owner, and absent where the conflict cannot be settled.",
                    "items": {"$ref": "#/components/schemas/Suspension"}
                  },
                  "replaced": {
                    "type": "array",
                    "description": "The providers whose linked account settling the conflict now replaces by the one that was brought. Present where `suspended` is.",
                    "items": {"type": "string"}
                  }
                }
              },
              "ReportedConflicts": {
                "type": "object",
                "required": ["conflicts"],
                "additionalProperties": false,
                "properties": {
                  "conflicts": {"type": "array", "items": {"$ref": "#/components/schemas/ReportedConflict"}},
                  "nextPageToken": {"type": "string", "description": "Absent on the last page."}
                }
              },
              "ReportedConflict": {
                "type": "object",
                "description": "A conflict as operators see it. No token and no handle is among it.",
                "required": [
                  "id", "localId", "state", "kind", "providerId", "accountMethod", "openTime", "expireTime", "proofsStarted"
                ],
                "additionalProperties": false,
                "properties": {
                  "id": {"type": "string", "description": "Names the conflict on these routes, and opens nothing."},
                  "localId": {"type": "string", "description": "The account that the conflict concerns."},
                  "state": {
                    "type": "string",
                    "enum": ["open", "proven", "resolved", "declined", "superseded", "expired"]
                  },
                  "kind": {
                    "type": "string",
                    "enum": [
                      "account-exists-with-different-credential", "credential-already-in-use", "email-already-in-use"
                    ]
                  },
                  "providerId": {"type": "string", "description": "The provider the credential is of."},
                  "email": {"type": "string", "description": "The address the provider named, masked: a***@e***.com."},
                  "accountMethod": {
                    "type": "string",
                    "description": "The ways into the account when the conflict was opened: a provider, password, emailLink, phone, oidc, saml, several, none or other."
                  },
                  "openTime": {"type": "string", "format": "date-time"},
                  "expireTime": {"type": "string", "format": "date-time"},
                  "closeTime": {"type": "string", "format": "date-time"},
                  "proofsStarted": {"type": "integer", "minimum": 0, "description": "Proofs that were asked for."},
                  "proof": {"$ref": "#/components/schemas/Proof"}
                }
              },
              "Suspension": {
                "type": "object",
                "required": ["method", "reason", "restore"],
                "additionalProperties": false,
                "properties": {
                  "method": {"type": "string", "description": "password, phone, or the id of a provider."},
                  "reason": {"type": "string", "enum": ["address-proven", "password-reset", "address-recovered", "audit"]},
                  "expireTime": {
                    "type": "string",
                    "format": "date-time",
                    "description": "The end of the suspension. Absent where the project keeps nothing: the method is deleted at once."
                  },
                  "restore": {
                    "type": "object",
                    "description": "The way to bring it back, with a session of the account.",
                    "required": ["by", "route"],
                    "additionalProperties": false,
                    "properties": {
                      "by": {
                        "type": "string",
                        "description": "password: by the old password. link: by linking it again. reset: by a new password.",
                        "enum": ["password", "link", "reset"]
                      },
                      "route": {"type": "string", "description": "Method and path."}
                    }
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
              "Policy": {
                "type": "object",
                "required": ["version", "linkPolicy", "emailTrust", "emailTrustByDefault", "conflictProofs"],
                "additionalProperties": false,
                "properties": {
                  "version": {"type": "integer", "minimum": 1},
                  "linkPolicy": {
                    "type": "object",
                    "description": "The preset and the value of each rule that it governs (docs/guides/policy.md).",
                    "required": ["preset"],
                    "properties": {
                      "preset": {"type": "string", "enum": ["strict", "firebase"]},
                      "emailTrust": {"type": "string", "enum": ["strict", "firebase"]},
                      "subjectChange": {"type": "string", "enum": ["conflict", "replace", "takeover", "move"]}
                    }
                  },
                  "emailTrust": {
                    "type": "array",
                    "description": "The operator's own rules.",
                    "items": {"$ref": "#/components/schemas/EmailTrustRule"}
                  },
                  "emailTrustByDefault": {
                    "type": "array",
                    "description": "The rules that hold anyway; an own rule of the same scope takes a rule's place.",
                    "items": {"$ref": "#/components/schemas/EmailTrustRule"}
                  },
                  "conflictProofs": {"type": "array", "items": {"$ref": "#/components/schemas/ConflictProofRule"}}
                }
              },
              "Decisions": {
                "type": "object",
                "required": ["decisions"],
                "additionalProperties": false,
                "properties": {
                  "decisions": {"type": "array", "items": {"$ref": "#/components/schemas/Decision"}},
                  "nextPageToken": {"type": "string"}
                }
              },
              "Decision": {
                "type": "object",
                "description": "outcome for clients; the rest for operators.",
                "required": ["decisionId", "decisionTime"],
                "additionalProperties": false,
                "properties": {
                  "decisionId": {"type": "string"},
                  "decisionTime": {"type": "string", "format": "date-time"},
                  "outcome": {"type": "string", "enum": ["signed-in", "conflict", "refused", "changed"]},
                  "localId": {"type": "string", "description": "The account it is about."},
                  "kind": {"type": "string", "description": "What came of it."},
                  "rule": {"type": "string", "description": "The rule that fired (docs/reference/decisions.md)."},
                  "policyVersion": {"type": "integer", "minimum": 0},
                  "questions": {"type": "array", "items": {"$ref": "#/components/schemas/Question"}}
                }
              },
              "Question": {
                "type": "object",
                "description": "What the rules were asked. Addresses, numbers and subjects have other names: a@, s1.",
                "required": ["rule", "answer", "facts", "policy", "alternatives"],
                "additionalProperties": false,
                "properties": {
                  "rule": {"type": "string"},
                  "answer": {"type": "object"},
                  "facts": {"type": "object"},
                  "policy": {"type": "object"},
                  "alternatives": {
                    "type": "object",
                    "description": "The rule that would have fired with one fact otherwise, by the name of the fact."
                  },
                  "ruleToday": {
                    "type": "string",
                    "description": "The rule that the same facts meet under the policy in force."
                  }
                }
              },
              "EmailTrustRule": {
                "type": "object",
                "required": ["provider", "trust"],
                "additionalProperties": false,
                "properties": {
                  "provider": {"type": "string", "description": "A provider's id, oidc.*, saml.* or *."},
                  "issuer": {"type": "string", "description": "An issuer, or none: what has no issuer. Any unless given."},
                  "domain": {"type": "string", "description": "A domain, or hosted: the account's at Google. Any unless given."},
                  "trust": {"type": "string", "enum": ["untrusted", "asserting", "verifying-new", "verifying", "authoritative"]}
                }
              },
              "ConflictProofRule": {
                "type": "object",
                "required": ["proofs"],
                "additionalProperties": false,
                "properties": {
                  "method": {"type": "string", "description": "A method the account has. Any unless given."},
                  "provider": {"type": "string", "description": "What somebody came with. Any unless given."},
                  "proofs": {"type": "array", "items": {"$ref": "#/components/schemas/ProofKind"}}
                }
              },
              "SignedIn": {
                "type": "object",
                "required": ["localId", "idToken", "refreshToken", "expiresIn", "suspended", "replaced"],
                "additionalProperties": false,
                "properties": {
                  "localId": {"type": "string"},
                  "idToken": {"type": "string"},
                  "refreshToken": {"type": "string"},
                  "expiresIn": {"type": "string", "description": "Seconds until the ID token expires, in decimal."},
                  "suspended": {
                    "type": "array",
                    "description": "The methods that this suspended, because they were set up before anybody had proven the address.",
                    "items": {"$ref": "#/components/schemas/Suspension"}
                  },
                  "replaced": {
                    "type": "array",
                    "description": "The providers whose linked account this replaced by the one that was brought. A mail to the proven address of the account undoes it.",
                    "items": {"type": "string"}
                  }
                }
              },
              "Sessions": {
                "type": "object",
                "required": ["sessions", "refusedSignIns"],
                "additionalProperties": false,
                "properties": {
                  "sessions": {
                    "type": "array",
                    "items": {
                      "type": "object",
                      "required": ["sessionId", "startTime", "lastUseTime", "signInProvider", "current"],
                      "additionalProperties": false,
                      "properties": {
                        "sessionId": {"type": "string", "description": "As concord.session in its ID tokens."},
                        "startTime": {"type": "string", "format": "date-time"},
                        "lastUseTime": {
                          "type": "string",
                          "format": "date-time",
                          "description": "Of the last refresh, up to a day too early; where the project limits inactivity, up to a tenth of that."
                        },
                        "signInProvider": {"type": "string", "description": "As firebase.sign_in_provider in its ID tokens."},
                        "secondFactor": {"type": "string", "enum": ["phone", "totp"]},
                        "device": {"type": "string", "description": "User-Agent of the sign-in, at most 200 characters of it."},
                        "current": {"type": "boolean", "description": "Whether it is the session that asks."}
                      }
                    }
                  },
                  "nextPageToken": {"type": "string"},
                  "refusedSignIns": {
                    "type": "array",
                    "description": "One for each day and reason, the newest first, for 90 days; at most 100.",
                    "items": {
                      "type": "object",
                      "required": ["reason", "count", "firstTime", "lastTime"],
                      "additionalProperties": false,
                      "properties": {
                        "reason": {
                          "type": "string",
                          "description": "A rule of docs/reference/decisions.md, such as S4; wrong-second-factor or locked-second-factor."
                        },
                        "count": {"type": "integer", "minimum": 1},
                        "firstTime": {"type": "string", "format": "date-time"},
                        "lastTime": {"type": "string", "format": "date-time"}
                      }
                    }
                  }
                }
              },
              "AccountMethods": {
                "type": "object",
                "required": ["methods"],
                "additionalProperties": false,
                "properties": {
                  "methods": {
                    "type": "array",
                    "items": {
                      "type": "object",
                      "required": ["method", "works"],
                      "additionalProperties": false,
                      "properties": {
                        "method": {"type": "string", "description": "password, emailLink, phone, or the id of a provider."},
                        "works": {"type": "boolean", "description": "Whether it lets the user in now."},
                        "obstacle": {
                          "type": "string",
                          "description": "Why it does not.",
                          "enum": ["account-disabled", "no-address", "not-available", "not-enabled"]
                        },
                        "proof": {
                          "type": "string",
                          "description": "What stood behind it when it was added.",
                          "enum": [
                            "sign-up", "session", "message", "provider-credential", "administrator", "imported"
                          ]
                        },
                        "proveTime": {"type": "string", "format": "date-time"}
                      }
                    }
                  }
                }
              },
              "Quarantine": {
                "type": "object",
                "required": ["methods"],
                "additionalProperties": false,
                "properties": {
                  "methods": {
                    "type": "array",
                    "items": {
                      "type": "object",
                      "required": ["method", "reason", "decision", "quarantineTime", "expireTime"],
                      "additionalProperties": false,
                      "properties": {
                        "method": {"type": "string", "description": "password, phone, or the id of a provider."},
                        "reason": {
                          "type": "string",
                          "description": "Why: somebody showed for the first time to own the address, or the password was reset by mail.",
                          "enum": ["address-proven", "password-reset", "address-recovered", "audit"]
                        },
                        "decision": {"type": "string", "description": "Names the decision that suspended it."},
                        "quarantineTime": {"type": "string", "format": "date-time"},
                        "expireTime": {"type": "string", "format": "date-time", "description": "From then on it is gone."}
                      }
                    }
                  }
                }
              },
              "DisabledProvider": {
                "type": "object",
                "required": ["providerId", "enabled", "lockedOutUsers", "isExact"],
                "additionalProperties": false,
                "properties": {
                  "providerId": {"type": "string"},
                  "enabled": {"type": "boolean"},
                  "lockedOutUsers": {"type": "integer", "minimum": 0, "description": "Users to whom no method is left."},
                  "isExact": {"type": "boolean", "description": "Whether every user of the provider was looked at."}
                }
              },
              "ReauthenticationPolicy": {
                "type": "object",
                "required": ["operations"],
                "additionalProperties": false,
                "properties": {
                  "operations": {
                    "type": "array",
                    "items": {
                      "type": "object",
                      "required": ["operation", "maxAge", "exemptions"],
                      "additionalProperties": false,
                      "properties": {
                        "operation": {
                          "type": "string",
                          "enum": [
                            "delete-account", "change-email", "change-password", "enroll-second-factor",
                            "withdraw-second-factor", "request-email-change", "prove-conflict", "remove-method",
                            "restore-method", "merge-accounts", "link-provider", "change-phone-number",
                            "unlink-method"
                          ]
                        },
                        "maxAge": {
                          "type": "integer",
                          "minimum": 0,
                          "description": "How many seconds old the sign-in of the session may be; 0: the very second."
                        },
                        "exemptions": {
                          "type": "array",
                          "description": "Kinds of accounts that are asked for nothing.",
                          "items": {"type": "string", "enum": ["anonymous"]}
                        }
                      }
                    }
                  }
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
                      "urn:concord:problem:choices-needed",
                      "urn:concord:problem:conflict-closed",
                      "urn:concord:problem:conflict-expired",
                      "urn:concord:problem:conflict-unknown",
                      "urn:concord:problem:content-too-large",
                      "urn:concord:problem:foreign-page",
                      "urn:concord:problem:idempotency-key-reused",
                      "urn:concord:problem:identity-in-use",
                      "urn:concord:problem:insufficient-user-authentication",
                      "urn:concord:problem:internal-error",
                      "urn:concord:problem:invalid-policy",
                      "urn:concord:problem:invalid-session",
                      "urn:concord:problem:last-sign-in-method",
                      "urn:concord:problem:later-changes",
                      "urn:concord:problem:malformed-request",
                      "urn:concord:problem:merge-closed",
                      "urn:concord:problem:merge-refused",
                      "urn:concord:problem:not-found",
                      "urn:concord:problem:precondition-failed",
                      "urn:concord:problem:proof-expired",
                      "urn:concord:problem:proof-not-offered",
                      "urn:concord:problem:proof-required",
                      "urn:concord:problem:proof-stale",
                      "urn:concord:problem:provider-already-linked",
                      "urn:concord:problem:provider-disabled",
                      "urn:concord:problem:refused",
                      "urn:concord:problem:second-factor-required",
                      "urn:concord:problem:too-many-attempts",
                      "urn:concord:problem:too-many-mails",
                      "urn:concord:problem:unavailable",
                      "urn:concord:problem:user-disabled",
                      "urn:concord:problem:users-locked-out",
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
                  },
                  "methods": {
                    "type": "array",
                    "description": "With maxAge: how this user can sign in anew; custom is a custom token of the app's backend.",
                    "items": {"type": "string"}
                  },
                  "lockedOutUsers": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "Users to whom no method would be left, as far as was looked."
                  },
                  "isExact": {"type": "boolean", "description": "With lockedOutUsers: whether that is all of them."},
                  "undecided": {
                    "type": "array",
                    "description": "With choices-needed: what has to be chosen.",
                    "items": {"type": "string"}
                  },
                  "reason": {"type": "string", "description": "With merge-refused: why."},
                  "merge": {
                    "description": "With merge-refused: the merge that stands in the way, or was committed before.",
                    "$ref": "#/components/schemas/Merge"
                  },
                  "changes": {
                    "type": "array",
                    "description": "With later-changes: what was changed since.",
                    "items": {"$ref": "#/components/schemas/LaterChange"}
                  },
                  "errors": {
                    "type": "array",
                    "description": "Everything that is wrong with what was sent, where more than one thing may be.",
                    "items": {"type": "string"}
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
